"""Keeps the libraries' Adafactor out of an answer that is written by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch.optim import _adafactor

from grader.observing.contract import fail
from grader.observing.refused_optimizers import refuse_optimizers
from grader.testbed.extras import import_train_extra


@contextlib.contextmanager
def refuse_adafactor(instead: str, look_at: str) -> Iterator[None]:
    """Fail the check when the block makes an optimizer, or calls a function that an Adafactor consists of.

    Args:
        instead: What is asked for, for the message.
        look_at: Where the learner should look.
    """

    def refuse(*_: Any, **__: Any) -> None:
        fail("library_used", instead, "a call of a library's Adafactor", look_at)

    transformers_adafactor = import_train_extra("transformers.optimization").Adafactor
    seams: tuple[tuple[Any, str, Any], ...] = (
        (_adafactor, "_single_tensor_adafactor", refuse),
        (_adafactor, "_multi_tensor_adafactor", refuse),
        (transformers_adafactor, "_approx_sq_grad", staticmethod(refuse)),
        (transformers_adafactor, "_get_lr", staticmethod(refuse)),
        (transformers_adafactor, "_get_options", staticmethod(refuse)),  # what its step calls first
    )
    kept = [vars(owner)[name] for owner, name, _ in seams]
    for owner, name, replacement in seams:
        setattr(owner, name, replacement)
    try:
        with refuse_optimizers(instead, look_at):
            yield
    finally:
        for (owner, name, _), function in zip(seams, kept, strict=True):
            setattr(owner, name, function)
