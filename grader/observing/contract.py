"""Calls a learner's function, and says in three lines what was wrong with the call itself."""

from __future__ import annotations

import inspect
import linecache
import math
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType
from typing import NoReturn

import torch

from grader.verdict import CheckFailed, NotSolvedYet, Verdict

LARGEST_FLOAT = sys.float_info.max
_OURS = str(Path(__file__).resolve().parents[1])
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def fail(code: str, expected: str, measured: str, look_at: str) -> NoReturn:
    """Raise a failed check with its three lines."""
    raise CheckFailed(Verdict(code, expected, measured, look_at))


def require_function(answer: object, exercise: str, parameters: tuple[str, ...]) -> None:
    """Fail unless `answer` is a function that takes the parameters of the exercise by position.

    Args:
        answer: What the learner handed to the check.
        exercise: Name of the exercise's function.
        parameters: Names of the parameters, in order.
    """
    signature = f"{exercise}({', '.join(parameters)})"
    if not callable(answer):
        fail(
            "not_a_function",
            f"the function {signature}",
            f"{type(answer).__name__}",
            f"You pass something other than a function to this check. Pass `{exercise}` itself, without parentheses.",
        )
    try:
        found = inspect.signature(answer)
    except ValueError:  # a built-in function, written in C
        return
    try:
        found.bind(*parameters)
    except TypeError as error:
        fail(
            "wrong_signature",
            f"a function that can be called as {signature}",
            f"{found}: {error}",
            "You changed the parameters. Keep those of the exercise, in their order.",
        )


def require_tensor(
    value: object, what: str, *, shape: tuple[int, ...] | None = None, like: torch.Tensor
) -> torch.Tensor:
    """Fail unless `value` is a finite tensor with the shape, dtype and device type of `like`.

    Args:
        value: What the learner returned.
        what: What it is, for the message.
        shape: Expected shape where it is not that of `like`.
        like: Tensor that it should resemble.

    Returns:
        The tensor, detached.
    """
    _require_result(value, f"{what}: a torch.Tensor")
    if not isinstance(value, torch.Tensor):
        fail(
            "wrong_type",
            f"{what}: a torch.Tensor",
            f"{type(value).__name__}",
            "You return an object of another type. Look at your return statement.",
        )
    wanted = tuple(like.shape) if shape is None else shape
    for code, name, right, found in (
        ("wrong_shape", "shape", wanted, tuple(value.shape)),
        ("wrong_dtype", "dtype", like.dtype, value.dtype),
        ("wrong_device", "device", like.device.type, value.device.type),
    ):
        if right != found:
            fail(
                code,
                f"{what} of {name} {right}",
                f"{name} {found}",
                f"You return a tensor of another {name}. Look at the line that makes your result.",
            )
    if not bool(torch.isfinite(value).all()):
        fail(
            "not_finite",
            f"{what}: finite numbers",
            "NaN or infinity",
            "Your result is NaN or infinite. Look for a division by zero, or an overflow.",
        )
    return value.detach()


def require_word(value: object, words: tuple[str, ...]) -> str:
    """Fail unless `value` is one of the words that the docstring names."""
    if isinstance(value, str) and value in words:
        return value
    expected = f"one of the words {', '.join(words)}"
    if value is None:
        fail(
            "returned_none", expected, "None", "You return no word in one branch or more. Look at how each branch ends."
        )
    measured = f"{type(value).__name__}: {value!r}"[:80]
    look_at = "You return a word that the docstring does not name. Compare them letter by letter."
    fail("wrong_word", expected, measured, look_at)


def require_number(value: object, what: str, *, is_finite: bool = True) -> int | float:
    """Fail unless `value` is a number: a plain one, NumPy's, or a tensor of one element without a graph.

    Args:
        value: What the learner returned.
        what: What it is, for the message.
        is_finite: Whether NaN and infinity fail here; a judge that explains them wants to see them.
    """
    _require_result(value, f"{what}: a number")
    if isinstance(value, torch.Tensor) and value.requires_grad:
        look_at = (
            "You return a tensor with a graph, which keeps that graph in memory. Return the number alone, with .item()."
        )
        fail("graph_returned", f"{what}: a number", f"a tensor with grad_fn {type(value.grad_fn).__name__}", look_at)
    is_number_of_numpy = type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()
    if is_number_of_numpy or (isinstance(value, torch.Tensor) and value.numel() == 1):
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, bool) or not isinstance(value, int | float):
        fail(
            "wrong_type",
            f"{what}: a number",
            f"{type(value).__name__}",
            "You return an object of another type. Look at your return statement.",
        )
    if isinstance(value, int) and abs(value) > LARGEST_FLOAT:
        look_at = "You return an integer too large for a float. Look at powers and products: is one `**` meant as `*`?"
        fail("too_large", f"{what}: a number below {LARGEST_FLOAT:.0e}", "an integer above it", look_at)
    if is_finite and not math.isfinite(value):
        fail(
            "not_finite",
            f"{what}: a finite number",
            str(value),
            "Your result is NaN or infinite. Look for a division by zero, or an overflow.",
        )
    return value


def _require_result(value: object, expected: str) -> None:
    if value is None:
        fail("returned_none", expected, "None", "Your function returns nothing. Add a return statement at its end.")


def explain_exception(error: Exception, exercise: str) -> NoReturn:
    """Turn an exception that came out of the learner's code into a failed check.

    An exception that never passed through the learner's code is a fault of this project: it is raised as it is.
    """
    frame = _learner_frame(error)
    if frame is None:
        raise error
    where, line_number, is_innermost = frame
    if isinstance(error, NotImplementedError) and not str(error) and is_innermost:
        raise NotSolvedYet(where.f_code.co_name) from None
    source = linecache.getline(where.f_code.co_filename, line_number).strip()
    place = f"line {line_number} of {where.f_code.co_name}: {source}"
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        fail(
            "out_of_memory",
            f"{exercise} to fit into memory",
            f"{type(error).__name__}: {_first_line(error)}",
            f"You hold too much memory at {place}. Earlier cells and other notebooks hold memory, too.",
        )
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(error).__name__)
    code = f"raised_{words.lower()}"
    fail(code, f"{exercise} to return", f"{type(error).__name__}: {_first_line(error)}", place)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else "no message"


def _learner_frame(error: Exception) -> tuple[FrameType, int, bool] | None:
    """Return the innermost frame of neither this project nor a library, its line, and whether the error began there."""
    is_innermost = True
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if not frame.f_code.co_filename.startswith((_OURS, *_LIBRARIES, "<frozen", "<string>")):
            return frame, line, is_innermost
        is_innermost = False
    return None
