"""Records how Accelerate and the Trainer are used by a learner's function."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from grader.observing.recording import TrainingRecord

Calls = dict[str, list[Any]]
Method = Callable[..., Any]

# A check prints one line, its own; the last of these can be imported in a notebook only.
PRINTING_CALLBACKS = ("PrinterCallback", "ProgressCallback", "NotebookProgressCallback")


@contextlib.contextmanager
def record_library_calls(record: TrainingRecord) -> Iterator[Calls]:
    """Record how Accelerate and the Trainer are used while the block runs.

    Args:
        record: The record of the model that is watched.

    Yields:
        Of the Trainer: "trainer", gradient_accumulation_steps of each `Trainer.train`; "forwards_in_trainer", forwards
        of the watched model in each. Of Accelerate, outside the Trainer: "accumulate" and "backward",
        gradient_accumulation_steps at each entry into `Accelerator.accumulate` and call of `Accelerator.backward`;
        "prepared", "model", "optimizer" or "loader" for each object that was prepared; "used", "optimizer" or "loader"
        for each step of a prepared optimizer and batch of a prepared loader.
    """
    from accelerate import Accelerator
    from accelerate.data_loader import DataLoaderDispatcher, DataLoaderShard
    from accelerate.optimizer import AcceleratedOptimizer
    from transformers import Trainer

    watch = _Watch(record)
    seams: tuple[tuple[Any, str, Callable[[Method], Method]], ...] = (
        (Trainer, "train", watch.record_train),
        (Accelerator, "accumulate", watch.noting("accumulate", lambda self: self.gradient_accumulation_steps)),
        (Accelerator, "backward", watch.noting("backward", lambda self: self.gradient_accumulation_steps)),
        (Accelerator, "prepare_model", watch.noting("prepared", lambda self: "model")),
        (Accelerator, "prepare_optimizer", watch.noting("prepared", lambda self: "optimizer")),
        (Accelerator, "prepare_data_loader", watch.noting("prepared", lambda self: "loader")),
        (AcceleratedOptimizer, "step", watch.noting("used", lambda self: "optimizer")),
        (DataLoaderShard, "__iter__", watch.record_batches),
        (DataLoaderDispatcher, "__iter__", watch.record_batches),
    )
    kept = [getattr(owner, name) for owner, name, _ in seams]
    for (owner, name, wrap), method in zip(seams, kept, strict=True):
        setattr(owner, name, wrap(method))
    try:
        yield watch.calls
    finally:
        for (owner, name, _), method in zip(seams, kept, strict=True):
            setattr(owner, name, method)


class _Watch:
    """Wraps methods of the libraries; what the Trainer does with Accelerate is not the learner's, and not noted."""

    def __init__(self, record: TrainingRecord):
        self.record = record
        self.is_in_trainer = False
        names = ("trainer", "forwards_in_trainer", "accumulate", "backward", "prepared", "used")
        self.calls: Calls = {name: [] for name in names}

    def noting(self, name: str, fact: Callable[[Any], Any]) -> Callable[[Method], Method]:
        """Return a wrapper that notes a fact of the object whose method is called."""

        def wrap(method: Method) -> Method:
            def noted(owner: Any, *arguments: Any, **keywords: Any) -> Any:
                if not self.is_in_trainer:
                    self.calls[name].append(fact(owner))
                return method(owner, *arguments, **keywords)

            return noted

        return wrap

    def record_batches(self, method: Method) -> Method:
        """Wrap the iteration over a prepared loader."""

        def noted(loader: Any) -> Iterator[Any]:
            for batch in method(loader):
                if not self.is_in_trainer:
                    self.calls["used"].append("loader")
                yield batch

        return noted

    def record_train(self, method: Method) -> Method:
        """Wrap `Trainer.train`."""

        def noted(trainer: Any, *arguments: Any, **keywords: Any) -> Any:
            self.calls["trainer"].append(trainer.args.gradient_accumulation_steps)
            for callback in list(trainer.callback_handler.callbacks):
                if type(callback).__name__ in PRINTING_CALLBACKS:
                    trainer.remove_callback(callback)
            self.is_in_trainer, forwards_before = True, len(self.record.forward_rows)
            try:
                return method(trainer, *arguments, **keywords)
            finally:
                self.is_in_trainer = False
                self.calls["forwards_in_trainer"].append(len(self.record.forward_rows) - forwards_before)

        return noted
