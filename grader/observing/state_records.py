"""Tells what a function that only counts has changed, moved or made of what it was handed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from grader.observing.contract import fail, require_number

State = dict[int, dict[Any, tuple[Any, Any]]]  # by parameter and name: the entry, and a copy of a tensor


def copy_of_state(optimizer: torch.optim.Optimizer) -> State:
    """Keep every entry of a state, and a copy of each tensor."""
    return {
        id(parameter): {
            name: (entry, entry.clone() if isinstance(entry, Tensor) else None) for name, entry in state.items()
        }
        for parameter, state in optimizer.state.items()
    }


def is_state_emptied(optimizer: torch.optim.Optimizer, before: State) -> bool:
    """Return whether entries of a state are gone."""
    left = {id(parameter): set(state) for parameter, state in optimizer.state.items()}
    return any(set(entries) - left.get(key, set()) for key, entries in before.items())


def is_state_as_before(optimizer: torch.optim.Optimizer, before: State) -> bool:
    """Return whether a state holds the same entries as when `before` was made, with the same values."""
    if {id(parameter) for parameter in optimizer.state if optimizer.state[parameter]} != {
        k for k in before if before[k]
    }:
        return False
    for parameter, state in optimizer.state.items():
        kept = before.get(id(parameter), {})
        if set(state) != set(kept) or any(state[name] is not entry for name, (entry, _) in kept.items()):
            return False
        if any(isinstance(entry, Tensor) and not torch.equal(entry, copy) for entry, copy in kept.values()):
            return False
    return True


def is_as_before(handed_over: list[Any], parameters: Sequence[nn.Parameter], is_trained: Sequence[bool]) -> bool:
    """Return whether a list still holds the parameters, and each of them is trained or frozen as it was."""
    if len(handed_over) != len(parameters):
        return False
    pairs = zip(handed_over, parameters, is_trained, strict=True)
    return all(own is one and one.grad is None and one.requires_grad == trained for own, one, trained in pairs)


def require_count(answer: object) -> list[int | float]:
    """Fail unless an answer is a pair of numbers; a tensor is none, since it would have to be made."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        found = "None" if answer is None else f"{type(answer).__name__}: {answer!r}"[:80]
        code = "returned_none" if answer is None else "no_pair"
        fail(
            code,
            "two numbers: elements, bytes",
            found,
            "You return an object of another type. Look at your return statement.",
        )
    if any(isinstance(number, Tensor) for number in answer):
        look_at = "You return a tensor, which allocates memory. Return a plain number."
        fail("tensor_returned", "two plain numbers: elements, bytes", "a tensor", look_at)
    return [require_number(answer[0], "the elements"), require_number(answer[1], "the bytes")]


class _MoveRecord(TorchFunctionMode):
    """Notes the methods that make a copy of a tensor on a GPU, where it may be none on the CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Note the call, and make it."""
        name = getattr(func, "__name__", "")
        if func in _MOVES and name not in self.names:
            self.names.append(name)
        return func(*args, **(kwargs or {}))


_MOVES = (Tensor.cpu, Tensor.cuda, Tensor.to, Tensor.numpy, Tensor.tolist)


@contextlib.contextmanager
def record_moves() -> Iterator[list[str]]:
    """Record the methods that move tensors or make lists of them, while the block runs.

    Yields:
        Their names, each once.
    """
    record = _MoveRecord()
    with record:
        yield record.names
