"""Sentence pairs for one epoch with a cosine schedule, with Accelerate and with the Trainer."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.device import lesson_device
from grader.observing.library_calls import record_library_calls
from grader.observing.optimizer_records import record_updates
from grader.observing.recording import flat_weights, record_training
from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


@dataclass(frozen=True)
class EpochCase:
    """One epoch of sentence pairs, in their order, in full groups.

    Attributes:
        rows: Rows of a micro-batch.
        k: Micro-batches of an update.
        updates: Updates of the epoch.
        learning_rate: The peak.
        warm_up: Share of the updates that the warm-up takes.
        max_norm: Norm at which the gradient is clipped.
        seed: Seed of data and weights.
    """

    rows: int
    k: int
    updates: int
    learning_rate: float
    warm_up: float
    max_norm: float
    seed: int

    def make_model(self) -> BertForSequenceClassification:
        """Build a one-layer BERT classifier whose loss the Trainer divides itself."""
        model = make_run_model(self.seed)
        model.accepts_loss_kwargs = False
        return model

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs."""
        return make_run_dataset(self.rows * self.k * self.updates, self.seed)


def epoch_cases(seed: int) -> tuple[EpochCase, ...]:
    """Two settings; the warm-up's share is a whole number of updates in the first only."""
    draw = random.Random(seed)
    rate, share = draw.choice((0.05, 0.2)), draw.choice((0.15, 0.35))
    return EpochCase(2, 3, 8, 0.1, 0.25, 0.5, seed), EpochCase(3, 2, 7, rate, share, 0.3, seed + 1)


def run_epoch(train: Callable[..., Any], case: EpochCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train the model of a case; return each update's rate and gradient norm with the final weights, and the calls."""
    model = case.make_model().to(lesson_device())
    arguments = (case.rows, case.k, case.learning_rate, case.warm_up, case.max_norm)
    with record_training(model) as record, record_library_calls(record) as calls, record_updates(model) as options:
        train(model, case.make_dataset(), *arguments)
    rates = [update["rates"][0] for update in options.updates]
    norms = [gradient.norm().item() for gradient in record.gradients]
    value = {"rates": rates, "norms": norms, "weights": flat_weights(model).cpu()}
    return value, {"rows": record.forward_rows, "optimizers": _name_optimizers(options.updates), **calls}


def _name_optimizers(updates: list[dict[str, Any]]) -> list[str]:
    """Name the optimizers of the updates, with the options that plain SGD has not."""
    names = set()
    for update in updates:
        momentum, decay = update["options"].get("momentum"), max(decay or 0.0 for decay in update["decays"])
        parts = [update["optimizer"], f"momentum {momentum:g}" if momentum else "", f"decay {decay:g}" if decay else ""]
        names.add(", ".join(filter(None, parts)))
    return sorted(names)
