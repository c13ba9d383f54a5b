"""Sentence pairs for one epoch of a compiled model, with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.device import lesson_device
from grader.lessons.compilation.captured import fresh_dynamo
from grader.observing.accelerate_state import fresh_accelerate_state
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import TrainingRecord, flat_weights
from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


@dataclass(frozen=True)
class CompiledCase:
    """One epoch of sentence pairs, in their order, in full batches.

    Attributes:
        rows: Rows of an update.
        updates: Updates of the epoch.
        learning_rate: Constant.
        backend: What compiles the graphs.
        seed: Seed of data and weights.
    """

    rows: int
    updates: int
    learning_rate: float
    backend: str
    seed: int

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier, without dropout."""
        return make_run_model(self.seed)

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.rows * self.updates, self.seed)


def compiled_cases(seed: int) -> tuple[CompiledCase, ...]:
    """Two settings with a backend each."""
    draw = random.Random(seed)
    return (
        CompiledCase(4, 3, 0.1, "eager", seed),
        CompiledCase(draw.choice((2, 6)), draw.randrange(4, 6), draw.choice((0.05, 0.2)), "aot_eager", seed + 1),
    )


def train_case(train: Callable[..., Any], case: CompiledCase) -> dict[str, Any]:
    """Train the model of a case; return the weights at the end."""
    model = case.make_model().to(lesson_device())
    train(model, case.make_dataset(), case.rows, case.learning_rate, case.backend)
    return {"weights": flat_weights(model).cpu()}


def run_compiled(train: Callable[..., Any], case: CompiledCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train the model of a case; return the weights at the end, and what was captured and called."""
    forwards = TrainingRecord()  # a hook on the model would be part of the graph
    with fresh_accelerate_state(), fresh_dynamo() as captured, record_library_calls(forwards) as calls:
        value = train_case(train, case)
        plugin = _plugin_backend()
    facts = {"backends": captured.backends, "breaks": captured.breaks, "graph_calls": captured.calls}
    return value, facts | {"graph_rows": captured.rows, "plugin": plugin} | calls


def _plugin_backend() -> str:
    """Return the backend that Accelerate is set to; the Trainer sets it, too."""
    from accelerate.state import AcceleratorState

    plugin = AcceleratorState._shared_state.get("dynamo_plugin")
    return "no" if plugin is None else str(plugin.backend.value).lower()
