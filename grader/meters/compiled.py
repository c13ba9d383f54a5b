"""Find compiled functions. A dispatch mode makes them run uncompiled, so their memory would be another function's."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator

from torch import nn


def is_compiled(candidate: object) -> bool:
    """Whether the object is a module or a function that went through `torch.compile`."""
    if isinstance(candidate, nn.Module):
        frames = sys.modules.get("torch._dynamo.eval_frame")  # not imported: nothing is compiled yet
        optimized_module = getattr(frames, "OptimizedModule", ())
        return any(isinstance(m, optimized_module) or m._compiled_call_impl is not None for m in candidate.modules())
    attributes = getattr(candidate, "__dict__", {})
    return "_torchdynamo_orig_callable" in attributes and not attributes.get("_torchdynamo_disable", False)


def has_compiled(step: object, model: nn.Module | None) -> bool:
    """Whether the step, the model, or anything that the step names directly is compiled."""
    return any(is_compiled(candidate) for candidate in (model, step, *_named_in(step)))


def _named_in(step: object) -> Iterator[object]:
    """Yield what a function reads from outside: its closure, its globals, and what a partial or a wrapper holds."""
    if isinstance(step, functools.partial):
        yield from (step.func, *step.args, *step.keywords.values(), *_named_in(step.func))
    if hasattr(step, "__wrapped__"):
        yield from (step.__wrapped__, *_named_in(step.__wrapped__))
    yield from (getattr(step, "__self__", None), getattr(step, "__func__", None))
    for cell in getattr(step, "__closure__", None) or ():
        if cell != type(cell)():
            yield cell.cell_contents
    code = getattr(step, "__code__", None)
    for name in code.co_names if code is not None else ():
        if name in getattr(step, "__globals__", {}):
            yield step.__globals__[name]  # type: ignore[attr-defined]
