"""Verdicts on a run with Accelerate and one with the Trainer: used as taught, and equal to the raw loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.forms import TRAINER_DEFAULTS, Facts, count, judge_models, name_form
from grader.judging.lessons.three_forms.loop import judge_run
from grader.judging.lessons.three_forms.loop_events import rows_of_forwards
from grader.judging.lessons.three_forms.loop_gradients import Run, make_run
from grader.judging.vectors import tensors_of
from grader.lessons.three_forms.forms import forms_cases
from grader.lessons.three_forms.loop import RunCase
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

PREPARED = ("model", "optimizer", "loader")

# What a learner looks at where a form hides who does what.
LOOK_AT = TRAINER_DEFAULTS | {
    "trainer_epoch_repeated": "num_train_epochs, whose default is 3, and how often train() is called",
    "trainer_no_update": "whose parameters the optimizer holds that the Trainer is given",
    "trainer_other_batch_size": "per_device_train_batch_size: the Trainer's default is 8",
    "trainer_last_batch_dropped": "dataloader_drop_last: the last batch may have fewer rows, and is trained on too",
    "trainer_epochs_missing": "num_train_epochs: how often is every row seen?",
    "trainer_ended_early": "max_steps, where it is set: an epoch may end with a batch of fewer rows",
    "trainer_other_forwards": "which dataset the Trainer is given, and how many rows make an update",
    "trainer_weight_decay": "weight_decay of the optimizer that the Trainer is given",
    "trainer_momentum": "momentum of the optimizer that the Trainer is given",
    "accelerate_epoch_repeated": "how often the loop walks through the loader",
    "accelerate_epochs_missing": "how often the loop walks through the prepared loader",
    "accelerate_rows_in_another_order": "shuffle of the loader: the raw loop sees the rows in their order",
    "accelerate_learning_rate_changed": "a schedule: the learning rate is constant here",
    "accelerate_another_optimizer": "which optimizer is prepared: the raw loop has plain SGD",
}


def judge_accelerate_run(observation: Observation, seed: int) -> Verdict:
    """Judge the run with Accelerate: used as taught, and equal to the raw loop."""
    for case, facts, calls in _settings(observation, seed):
        verdict = _judge_accelerate(case, facts, calls) or _judge_models(case, facts, calls, is_in_trainer=False)
        if verdict:
            return verdict
    return _judge_runs(observation, seed, "accelerate")


def judge_trainer_run(observation: Observation, seed: int) -> Verdict:
    """Judge the run with the Trainer: used as taught, and equal to the raw loop."""
    for case, facts, calls in _settings(observation, seed):
        verdict = _judge_trainer(calls) or _judge_models(case, facts, calls, is_in_trainer=True)
        if verdict:
            return verdict
    return _judge_runs(observation, seed, "trainer")


def _settings(observation: Observation, seed: int) -> Iterator[tuple[RunCase, Facts, Facts]]:
    return zip(forms_cases(seed), observation.facts["settings"], observation.facts["calls"], strict=True)


def _judge_models(case: RunCase, facts: Facts, calls: Facts, *, is_in_trainer: bool) -> Verdict | None:
    forwards = len(rows_of_forwards(case))
    if not facts["forward_rows"]:
        name = "trainer_model" if is_in_trainer else "accelerate_model"
        expected = f"{count(forwards, 'forward')} of {name}"
        return Verdict(f"{name}_untouched", expected, "no forward of it", "which of the two models each form is given")
    return judge_models(forwards, facts, calls, is_in_trainer=is_in_trainer)


def _judge_accelerate(case: RunCase, facts: Facts, calls: Facts) -> Verdict | None:
    updates, backwards = len(rows_of_forwards(case)), calls["backward"]
    expected = f"model, optimizer and loader prepared, and {count(updates, 'call')} of accelerator.backward"
    if not backwards and not calls["prepared"]:
        look_at = "which lines of a raw loop Accelerate takes over"
        return Verdict("accelerator_not_used", expected, "nothing prepared, and no accelerator.backward", look_at)
    for name in PREPARED:
        if name not in calls["prepared"]:
            return Verdict(f"{name}_not_prepared", expected, f"no {name} prepared", "what accelerator.prepare is given")
    in_loop = len(facts["forward_rows"]) - sum(calls["forwards_in_trainer"])
    if len(backwards) < in_loop:
        measured = f"{count(in_loop, 'forward')}, and {count(len(backwards), 'call')} of accelerator.backward"
        look_at = "who scales the loss, and waits for other processes, where that is needed: not loss.backward()"
        return Verdict("accelerator_backward_not_used", expected, measured, look_at)
    for name, what in (("optimizer", "step of the prepared optimizer"), ("loader", "batch of the prepared loader")):
        if name not in calls["used"]:
            look_at = f"accelerator.prepare returns new objects: which {name} does the loop use?"
            return Verdict(f"prepared_{name}_not_used", f"a loop with the prepared {name}", f"no {what}", look_at)
    if set(backwards) != {1}:
        return _accumulation("accelerator", max(backwards), "the Accelerator")
    return None


def _judge_trainer(calls: Facts) -> Verdict | None:
    if not calls["trainer"]:
        look_at = "Trainer(...) only prepares: who calls .train()?"
        return Verdict("trainer_not_used", "one Trainer.train", "Trainer.train was not called", look_at)
    if set(calls["trainer"]) != {1}:
        return _accumulation("trainer", max(calls["trainer"]), "TrainingArguments")
    return None


def _accumulation(form: str, steps: int, owner: str) -> Verdict:
    expected = "one update for each batch: no accumulation"
    look_at = f"gradient_accumulation_steps of {owner}"
    return Verdict(f"{form}_accumulates", expected, count(steps, "accumulation step"), look_at)


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
    """Tell what is wrong with the forwards of one epoch apart from the number of epochs."""
    seen, wanted = list(facts["forward_rows"]), rows_of_forwards(case)
    epoch = wanted[: case.updates_per_epoch]
    expected = f"{count(case.epochs, 'epoch')} of {count(len(epoch), 'forward')}"
    epochs, rest = divmod(len(seen), len(epoch))
    if not rest and seen == epoch * epochs and epochs != case.epochs:
        code = "epoch_repeated" if epochs > case.epochs else "epochs_missing"
        return Verdict(code, expected, count(epochs, "epoch"), "how often every row is seen")
    shortened = [rows for rows in epoch if rows == case.rows]
    if seen and seen != wanted and seen == shortened * (len(seen) // len(shortened)):
        measured = f"{count(len(seen), 'forward')}, none of fewer than {case.rows} rows"
        return Verdict("last_batch_dropped", expected, measured, "the last batch of an epoch: it may have fewer rows")
    if seen and seen == wanted[: len(seen)] and len(seen) < len(wanted):
        return Verdict("ended_early", expected, count(len(seen), "forward"), "who decides when the run ends")
    return None


def _refine(verdict: Verdict | None, tensors: Mapping[str, Tensor], run: Run) -> Verdict | None:
    if verdict and verdict.code == "another_optimizer" and _is_decay(tensors, run):
        measured = "a movement towards zero in addition, of some of the weights"
        return replace(verdict, code="weight_decay", measured=measured)
    if verdict and verdict.code == "other_learning_rate" and torch.equal(tensors["weights.0"], tensors["weights.1"]):
        measured, look_at = "no movement at the first update", "a warm-up: it begins at a learning rate of 0"
        return replace(verdict, code="warmed_up", measured=measured, look_at=look_at)
    return verdict


def _is_decay(tensors: Mapping[str, Tensor], run: Run) -> bool:
    """Tell weight decay that spares some parameters, as the Trainer's spares biases and normalisations."""
    weights = tensors["weights.0"]
    rest = weights - tensors["weights.1"] - run.case.learning_rate * tensors["gradient.0"]
    is_moved = rest.abs() > 1e-6 * weights.abs()
    return compare(rest * is_moved, weights * is_moved).residual <= 1e-2


def _distance_from_raw_loop(tensors: Mapping[str, Tensor], run: Run) -> float:
    start, end = _raw_loop(run.case)
    ended = tensors[f"weights.{run.updates}"]
    return float(torch.linalg.vector_norm(ended - end) / torch.linalg.vector_norm(end - start))


@lru_cache(maxsize=8)
def _raw_loop(case: RunCase) -> tuple[Tensor, Tensor]:
    """Return the weights where the raw loop starts, and where it ends."""
    run = make_run(case)
    start = weights = nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
    for update in range(run.updates):
        weights = weights - case.learning_rate * run.gradient(weights, update)
    return start, weights
