"""Judges a run with Accelerate and one with the Trainer: used as taught, and equal to the raw loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.forms import TRAINER_DEFAULTS, Facts, count, name_form
from grader.judging.kept import keep_cases
from grader.judging.lessons.three_forms.loop import judge_run
from grader.judging.lessons.three_forms.loop_events import rows_of_forwards
from grader.judging.lessons.three_forms.loop_gradients import Run, make_run
from grader.judging.misconceptions import Misconception, Table
from grader.judging.vectors import tensors_of
from grader.lessons.three_forms.forms import forms_cases
from grader.lessons.three_forms.loop import RunCase
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

PREPARED = ("model", "optimizer", "loader")

# The diagnosis where a form hides who does what.
LOOK_AT = TRAINER_DEFAULTS | {
    "trainer_epoch_repeated": "You train for too many epochs. Set num_train_epochs to `epochs`: the default is 3.",
    "trainer_no_update": "You give the Trainer an optimizer of another model. Look at whose parameters it holds.",
    "trainer_other_batch_size": "You train on another number of rows for an update. "
    "Set per_device_train_batch_size: the Trainer's default is 8.",
    "trainer_last_batch_dropped": "You drop the last batch, which has fewer rows. Leave dataloader_drop_last at False.",
    "trainer_epochs_missing": "You train for too few epochs. Set num_train_epochs to `epochs`.",
    "trainer_ended_early": "You end the run before the last batch. Look at max_steps, where you set it.",
    "trainer_other_forwards": "You train on other rows. Look at the dataset that the Trainer gets.",
    "trainer_weight_decay": "You decay the weights. Leave weight_decay at 0.",
    "trainer_momentum": "You give the Trainer an optimizer with momentum. The raw loop has plain SGD.",
    "accelerate_epoch_repeated": "You go through the loader too often. Walk through it once for each epoch.",
    "accelerate_epochs_missing": "You go through the loader too seldom. Walk through it once for each epoch.",
    "accelerate_rows_in_another_order": "You shuffle the rows. Leave `shuffle` of the loader at False.",
    "accelerate_learning_rate_changed": "You change the learning rate during the run. It is constant: leave out the "
    "schedule.",
    "accelerate_another_optimizer": "You prepare another optimizer than plain SGD, which the raw loop has.",
}


@dataclass(frozen=True, eq=False)
class Usage:
    """How one run uses the library of its form.

    Attributes:
        forwards: Forwards of the model, wherever they run.
        in_trainer: Of these, the forwards within `Trainer.train`.
        calls: The calls of Accelerate and the Trainer, as `record_library_calls` notes them.
    """

    forwards: int
    in_trainer: int
    calls: Facts

    @property
    def in_loop(self) -> int:
        """Forwards in a loop of the learner's."""
        return self.forwards - self.in_trainer

    @property
    def backwards(self) -> str:
        """Forwards in the loop, and calls of the accelerator's backward, in words."""
        return f"{count(self.in_loop, 'forward')} in a loop, {len(self.calls['backward'])} of accelerator.backward"

    @property
    def places(self) -> str:
        """Where the forwards run, in words."""
        return f"{count(self.in_loop, 'forward')} in a loop, {self.in_trainer} in Trainer.train"

    def lacks(self, name: str, where: str = "prepared") -> bool:
        """Return whether an object was never prepared, or never used once it was."""
        return name not in self.calls[where]


def _not_prepared(name: str) -> Misconception[Usage]:
    return Misconception(
        f"{name}_not_prepared",
        f"You do not prepare the {name}. Pass it to accelerator.prepare, too.",
        shown_by=lambda usage: usage.lacks(name),
        measured=f"no {name} prepared",
    )


ACCELERATE = Table[Usage](
    Misconception(
        "trainer_used_instead",
        "You train with the Trainer. In this exercise you write the loop, with a prepared model, optimizer and loader.",
        shown_by=lambda usage: usage.in_trainer > 0,
        measured="{places}",
    ),
    Misconception(
        "forward_called_directly",
        "You call model.forward(...), which skips the module's hooks, on which libraries and checks rely. "
        "Call model(...).",
        shown_by=lambda usage: not usage.forwards and bool(usage.calls["backward"]),
        measured="no call of the model, and a backward",
    ),
    Misconception(
        "model_untouched",
        "You never call the model. Look at whether the loop over the batches is reached.",
        shown_by=lambda usage: not usage.forwards,
        measured="no forward of the model",
    ),
    Misconception(
        "accelerator_not_used",
        "You wrote a raw loop. Prepare model, optimizer and loader, and call accelerator.backward(loss).",
        shown_by=lambda usage: not usage.calls["prepared"] and not usage.calls["backward"],
        measured="nothing prepared, and no accelerator.backward",
    ),
    *map(_not_prepared, PREPARED),
    Misconception(
        "accelerator_backward_not_used",
        "You call loss.backward(), which does not scale or divide the loss as the accelerator may have to. "
        "Call accelerator.backward(loss).",
        shown_by=lambda usage: len(usage.calls["backward"]) < usage.in_loop,
        measured="{backwards}",
    ),
    Misconception(
        "prepared_optimizer_not_used",
        "You step the optimizer that you passed to accelerator.prepare. Use the one that it returns.",
        shown_by=lambda usage: usage.lacks("optimizer", "used"),
        measured="no step of the prepared optimizer",
    ),
    Misconception(
        "prepared_loader_not_used",
        "You read batches from the loader that you passed to accelerator.prepare. Use the one that it returns.",
        shown_by=lambda usage: usage.lacks("loader", "used"),
        measured="no batch of the prepared loader",
    ),
    Misconception(
        "accelerator_accumulates",
        "You accumulate gradients. Leave gradient_accumulation_steps of the Accelerator at 1.",
        shown_by=lambda usage: set(usage.calls["backward"]) != {1},
    ),
)

TRAINER = Table[Usage](
    Misconception(
        "trainer_not_used",
        "You never call train() of a Trainer. Make one for the model and start it.",
        shown_by=lambda usage: not usage.calls["trainer"],
        measured="Trainer.train was not called",
    ),
    Misconception(
        "trainer_model_untouched",
        "You give the Trainer another model, or a copy. Give it the model that your function receives.",
        shown_by=lambda usage: not usage.forwards,
        measured="no forward of the model",
    ),
    Misconception(
        "loop_used_instead",
        "You also train the model in a loop of your own. In this exercise the Trainer alone trains it.",
        shown_by=lambda usage: usage.in_loop > 0,
        measured="{places}",
    ),
    Misconception(
        "trainer_accumulates",
        "You accumulate gradients. Leave gradient_accumulation_steps of TrainingArguments at 1.",
        shown_by=lambda usage: set(usage.calls["trainer"]) != {1},
    ),
)
EXPECTED = {
    "accelerate": "model, optimizer and loader prepared, and accelerator.backward once for each batch",
    "trainer": "one Trainer.train, which trains the model",
}


def judge_accelerate_run(observation: Observation, seed: int) -> Verdict:
    """Judge the run with Accelerate: used as taught, and equal to the raw loop."""
    return _judge_usage(observation, seed, ACCELERATE, "accelerate") or _judge_runs(observation, seed, "accelerate")


def judge_trainer_run(observation: Observation, seed: int) -> Verdict:
    """Judge the run with the Trainer: used as taught, and equal to the raw loop."""
    return _judge_usage(observation, seed, TRAINER, "trainer") or _judge_runs(observation, seed, "trainer")


def _judge_usage(observation: Observation, seed: int, table: Table[Usage], form: str) -> Verdict | None:
    for _, facts, calls in zip(
        forms_cases(seed), observation.facts["settings"], observation.facts["calls"], strict=True
    ):
        usage = Usage(len(facts["forward_rows"]), sum(calls["forwards_in_trainer"]), calls)
        verdict = table.judge(usage, EXPECTED[form], "other calls of the library")
        if verdict:
            return verdict
    return None


def _judge_runs(observation: Observation, seed: int, form: str) -> Verdict:
    runs = [make_run(case) for case in forms_cases(seed)]
    largest = 0.0
    for index, run in enumerate(runs):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = _judge_epochs(facts, run.case) or judge_run(facts, tensors, run)
        verdict = _refine(verdict, tensors, run)
        if verdict:
            return name_form(verdict, form, LOOK_AT)
        largest = max(largest, _distance_from_raw_loop(tensors, run))
    updates = sum(run.updates for run in runs)
    measured = f"{updates} updates in {len(runs)} runs, which end {largest:.1e} of their movement from the raw loop"
    return Verdict(PASSED, "the weights of the raw loop", measured)


def _judge_epochs(facts: Facts, case: RunCase) -> Verdict | None:
    """Distinguish wrong forwards within an epoch from a wrong number of epochs."""
    seen, wanted = list(facts["forward_rows"]), rows_of_forwards(case)
    epoch = wanted[: case.updates_per_epoch]
    expected = f"{count(case.epochs, 'epoch')} of {count(len(epoch), 'forward')}"
    epochs, rest = divmod(len(seen), len(epoch))
    if not rest and seen == epoch * epochs and epochs != case.epochs:
        code = "epoch_repeated" if epochs > case.epochs else "epochs_missing"
        return Verdict(code, expected, count(epochs, "epoch"), f"You see every row {epochs} times.")
    shortened = [rows for rows in epoch if rows == case.rows]
    if seen and seen != wanted and seen == shortened * (len(seen) // len(shortened)):
        measured = f"{count(len(seen), 'forward')}, none of fewer than {case.rows} rows"
        return Verdict(
            "last_batch_dropped", expected, measured, "You drop the last batch of an epoch, which has fewer rows."
        )
    if seen and seen == wanted[: len(seen)] and len(seen) < len(wanted):
        return Verdict("ended_early", expected, count(len(seen), "forward"), "You end the run before the last batch.")
    return None


def _refine(verdict: Verdict | None, tensors: Mapping[str, Tensor], run: Run) -> Verdict | None:
    if verdict and verdict.code == "another_optimizer" and _is_decay(tensors, run):
        measured = "a movement towards zero in addition, of some of the weights"
        return replace(verdict, code="weight_decay", measured=measured)
    if verdict and verdict.code == "other_learning_rate" and torch.equal(tensors["weights.0"], tensors["weights.1"]):
        measured, look_at = (
            "no movement at the first update",
            "You warm up, from a learning rate of 0. Keep it constant.",
        )
        return replace(verdict, code="warmed_up", measured=measured, look_at=look_at)
    return verdict


def _is_decay(tensors: Mapping[str, Tensor], run: Run) -> bool:
    """Return whether weights decay; the Trainer spares biases and normalisations."""
    weights = tensors["weights.0"]
    rest = weights - tensors["weights.1"] - run.case.learning_rate * tensors["gradient.0"]
    is_moved = rest.abs() > 1e-6 * weights.abs()
    return compare(rest * is_moved, weights * is_moved).residual <= 1e-2


def _distance_from_raw_loop(tensors: Mapping[str, Tensor], run: Run) -> float:
    start, end = _raw_loop(run.case)
    ended = tensors[f"weights.{run.updates}"]
    return float(torch.linalg.vector_norm(ended - end) / torch.linalg.vector_norm(end - start))


@keep_cases
def _raw_loop(case: RunCase) -> tuple[Tensor, Tensor]:
    """Return the weights where the raw loop starts, and where it ends."""
    run = make_run(case)
    start = weights = nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
    for update in range(run.updates):
        weights = weights - case.learning_rate * run.gradient(weights, update)
    return start, weights
