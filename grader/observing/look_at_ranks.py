"""Shows what a function does on several ranks, without judging it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor

from grader.ranks.errors import RankError
from grader.ranks.run import RankRun, launch_ranks
from grader.verdict import NotSolvedYet

RECEIVE_SECONDS = 5.0
MOST_NUMBERS = 6  # of those that `say_counts` writes


def look_at_ranks(function: Callable[..., Any], world_size: int, **arguments: Any) -> RankRun | None:
    """Run a function on several ranks as `run_ranks` does; for a stub, print that it is not solved yet.

    A cell with `look_at_ranks` never stops a notebook: what a rank raises is printed.

    Args:
        function: An ordinary function.
        world_size: How many ranks.
        **arguments: As `run_ranks` takes them; a learner's function may be one of them.

    Returns:
        What the ranks returned and sent; None where one of them failed.
    """
    try:
        run = launch_ranks(function, world_size, arguments, receive_seconds=RECEIVE_SECONDS)
    except RankError as error:
        _show(error.printed)
        first = error.failures[0]
        is_stub = first.error_name == "NotImplementedError" and not first.message and first.began_there
        print("\n".join(NotSolvedYet(first.function).lines()) if is_stub else error)
        return None
    except TypeError as error:  # the file of the ranks cannot be written
        print(error)
        return None
    _show(run.printed)
    return run


def say_counts(returned: Iterable[Any]) -> str:
    """Write the different numbers that ranks returned, whole ones with hexadecimal digits; never raises.

    Args:
        returned: What each rank returned; anything but tensors of numbers is named by its type.

    Returns:
        For example "0x1111", "0x1111, 0x1112", "0.5", "NoneType".
    """
    said: dict[str, None] = {}
    for value in returned:
        if not isinstance(value, Tensor) or value.is_complex():
            said[type(value).__name__] = None
            continue
        for number in sorted(set(value.detach().double().flatten().tolist())):
            said[f"{int(number):#x}" if number.is_integer() else f"{number:g}"] = None
    shown = list(said)[:MOST_NUMBERS]
    return ", ".join(shown) + (", ..." if len(said) > len(shown) else "")


def _show(printed: list[str]) -> None:
    for rank, text in enumerate(printed):
        for line in text.splitlines():
            print(f"rank {rank} | {line}")
