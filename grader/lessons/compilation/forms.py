"""Sentence pairs for one epoch of a compiled model, with Accelerate and with the Trainer."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.device import lesson_device
from grader.lessons.compilation.captured import fresh_dynamo
from grader.observing.accelerate_state import fresh_accelerate_state
from grader.observing.contract import fail
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import TrainingRecord, flat_weights
from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


SETTINGS = "ACCELERATE_DYNAMO_"  # Accelerate reads how to compile from the environment, where nothing else is said


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
    try:
        train(model, case.make_dataset(), case.rows, case.learning_rate, case.backend)
    except (RuntimeError, ValueError) as error:
        _explain_refusal(str(error), model.config.problem_type)
        raise
    return {"weights": flat_weights(model).cpu()}


def _explain_refusal(text: str, problem_type: str | None) -> None:
    """Fail the check by name where the model refuses its labels, or the Trainer a compiled model."""
    if problem_type in ("regression", "multi_label_classification"):
        look_at = "You set `problem_type` to a value that wants labels of another kind. Print what a run makes of it."
        measured = f"problem_type {problem_type!r}, and an error in the loss"
        fail("problem_type_of_other_labels", "labels that are classes, one of each row", measured, look_at)
    if "No columns in the dataset match" in text:
        look_at = (
            "You hand a compiled model to the Trainer, which reads the names of columns from its forward. Hand it "
        )
        look_at += "the model itself: the Trainer's arguments compile it."
        fail("compiled_model_in_the_trainer", "a model whose forward has the columns' names", text[:110], look_at)


def run_compiled(train: Callable[..., Any], case: CompiledCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train the model of a case; return the weights at the end, and what was captured and called."""
    forwards = TrainingRecord()  # a hook on the model would be part of the graph
    steps: list[str] = []
    hook = register_optimizer_step_pre_hook(lambda *_: steps.append("step"))
    try:
        with (
            fresh_accelerate_state(),
            fresh_dynamo() as captured,
            record_library_calls(forwards) as calls,
            mock.patch.dict(os.environ),
        ):
            for name in [name for name in os.environ if name.startswith(SETTINGS)]:
                del os.environ[name]
            value = train_case(train, case)
            plugin = _plugin_facts()
    finally:
        hook.remove()
    facts = {"backends": captured.backends, "breaks": captured.breaks, "graph_calls": captured.calls}
    facts |= {"graph_rows": captured.rows, "sums": captured.sums, "updates": len(steps)}
    return value, facts | plugin | calls


def _plugin_facts() -> dict[str, Any]:
    """Return how Accelerate is set to compile, which the Trainer sets, too."""
    from accelerate.state import AcceleratorState

    plugin = AcceleratorState._shared_state.get("dynamo_plugin")
    return {
        "plugin": "no" if plugin is None else str(plugin.backend.value).lower(),
        "is_regional": bool(plugin and plugin.use_regional_compilation),
        "is_in_environment": any(name.startswith(SETTINGS) for name in os.environ),
    }
