"""Judges a run with Accelerate and one with the Trainer: used as taught, and equal to the raw loop."""

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
        return Verdict(
            f"{name}_untouched", expected, "no forward of it", f"You never train {name}. Give each form its own model."
        )
    return judge_models(forwards, facts, calls, is_in_trainer=is_in_trainer)


def _judge_accelerate(case: RunCase, facts: Facts, calls: Facts) -> Verdict | None:
    updates, backwards = len(rows_of_forwards(case)), calls["backward"]
    expected = f"model, optimizer and loader prepared, and {count(updates, 'call')} of accelerator.backward"
    if not backwards and not calls["prepared"]:
        look_at = "You wrote a raw loop. Prepare model, optimizer and loader, and call accelerator.backward(loss)."
        return Verdict("accelerator_not_used", expected, "nothing prepared, and no accelerator.backward", look_at)
    for name in PREPARED:
        if name not in calls["prepared"]:
            look_at = f"You do not prepare the {name}. Give it to accelerator.prepare, too."
            return Verdict(f"{name}_not_prepared", expected, f"no {name} prepared", look_at)
    in_loop = len(facts["forward_rows"]) - sum(calls["forwards_in_trainer"])
    if len(backwards) < in_loop:
        measured = f"{count(in_loop, 'forward')}, and {count(len(backwards), 'call')} of accelerator.backward"
        look_at = "You call loss.backward(), which neither scales the loss nor waits for others. Use the accelerator's."
        return Verdict("accelerator_backward_not_used", expected, measured, look_at)
    for name, what in (("optimizer", "step of the prepared optimizer"), ("loader", "batch of the prepared loader")):
        if name not in calls["used"]:
            look_at = f"You use the {name} as it was before accelerator.prepare. Use the one that it returns."
            return Verdict(f"prepared_{name}_not_used", f"a loop with the prepared {name}", f"no {what}", look_at)
    if set(backwards) != {1}:
        return _accumulation("accelerator", max(backwards), "the Accelerator")
    return None


def _judge_trainer(calls: Facts) -> Verdict | None:
    if not calls["trainer"]:
        look_at = "You never call train() of a Trainer. Make one for trainer_model and start it."
        return Verdict("trainer_not_used", "one Trainer.train", "Trainer.train was not called", look_at)
    if set(calls["trainer"]) != {1}:
        return _accumulation("trainer", max(calls["trainer"]), "TrainingArguments")
    return None


def _accumulation(form: str, steps: int, owner: str) -> Verdict:
    expected = "one update for each batch: no accumulation"
    look_at = f"You accumulate gradients. Leave gradient_accumulation_steps of {owner} at 1."
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


@lru_cache(maxsize=8)
def _raw_loop(case: RunCase) -> tuple[Tensor, Tensor]:
    """Return the weights where the raw loop starts, and where it ends."""
    run = make_run(case)
    start = weights = nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
    for update in range(run.updates):
        weights = weights - case.learning_rate * run.gradient(weights, update)
    return start, weights
