"""Judges checkpointed layers under Accelerate and under the Trainer: used, and equal to the raw loop."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from torch import Tensor

from grader.judging.form_peaks import judge_form_peak
from grader.judging.forms import TRAINER_DEFAULTS, Facts, count, judge_own_form, name_form
from grader.judging.kept import keep_cases
from grader.judging.updates import Reference, judge_updates
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.gradient_checkpointing.forms import LAYERS, FormsCase, form_peak_case, forms_cases
from grader.observation import Observation
from grader.verdict import Verdict

SHARE = 0.4  # one of six layers and six inputs

# A group of one micro-batch: what judges of accumulation call a group is an update here.
LOOK_AT = TRAINER_DEFAULTS | {
    "trainer_other_gradient": "Your gradients are not those of the raw loop. Look at train_sampling_strategy: by "
    "default the Trainer draws the rows at random.",
    "accelerate_whole_group_in_one_forward": "You train on more rows at a time than asked for. Look at the "
    "batch_size of the DataLoader.",
    "accelerate_epoch_repeated": "You run the model more than once for each update. Look for a second forward, or a "
    "second epoch.",
    "accelerate_other_gradient": "Your gradients are not those of the raw loop, which takes the rows in their order. "
    "Look at shuffle of the loader.",
    "accelerate_no_update": "You never update this model. Look at whose parameters the optimizer holds.",
}


def judge_checkpointing_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the loop with Accelerate: prepared, checkpointed, equal to the raw loop, and with its peak."""
    return _judge(observation, seed, "accelerate")


def judge_checkpointing_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the run of the Trainer: checkpointed, equal to the raw loop, and with its peak."""
    return _judge(observation, seed, "trainer")


def _judge(observation: Observation, seed: int, form: str) -> Verdict:
    cases, every = forms_cases(seed), observation.facts
    for case, facts, calls in zip(cases, every["settings"], every["calls"], strict=True):
        verdict = judge_own_form(facts, calls, is_in_trainer=form == "trainer")
        verdict = verdict or (_judge_accelerate(case, calls) if form == "accelerate" else None)
        verdict = verdict or _judge_layers(facts, form) or _judge_rows(case, facts, calls, form)
        if verdict:
            return verdict
    for index, case in enumerate(cases):
        verdict = judge_updates(every["settings"][index], tensors_of(observation, index), _make_reference(case))
        if verdict:
            return name_form(verdict, form, LOOK_AT)
    (claim,), deep = every["claims"], form_peak_case(seed)
    look_at = "You keep losses, outputs or graphs of earlier updates, or checkpoint fewer layers of a deeper model."
    code = f"{form}_tensors_kept"
    peak = judge_form_peak(claim, deep.make_model, deep.make_batches, SHARE, code=code, look_at=look_at)
    updates = sum(case.updates for case in cases)
    right = f"{updates} updates with the gradient of the raw loop"
    return replace(peak, measured=f"{right}; peak {peak.measured}") if peak.is_passed else peak


def _judge_accelerate(case: FormsCase, calls: Facts) -> Verdict | None:
    expected = f"a prepared model and optimizer, and {count(case.updates, 'call')} of accelerator.backward"
    for name in ("model", "optimizer"):
        if name not in calls["prepared"]:
            return Verdict(
                f"{name}_not_prepared",
                expected,
                f"no {name} prepared",
                f"You do not give the {name} to accelerator.prepare.",
            )
    if not calls["backward"]:
        look_at = "You never call accelerator.backward. Look at where your loop calls backward."
        return Verdict("accelerator_backward_not_used", expected, "no call of accelerator.backward", look_at)
    if "optimizer" not in calls["used"]:
        look_at = (
            "You never call step() of the prepared optimizer. Look for a missing step(), and at which optimizer steps."
        )
        return Verdict("prepared_objects_dropped", expected, "no step of the prepared optimizer", look_at)
    return None


def _judge_layers(facts: Facts, form: str) -> Verdict | None:
    """Find out whether each layer ran twice for each forward of the model, and the embeddings once."""
    forwards = len(facts["forward_rows"])
    embeddings, *layers = (facts["part_runs"].count(part) for part in range(1 + LAYERS))
    if embeddings <= forwards and set(layers) == {2 * forwards}:
        return None
    runs = " and ".join(map(str, layers))
    expected = f"{2 * forwards} runs of each layer for {count(forwards, 'forward')} of the model: one more in backward"
    look_at = "You do not checkpoint the layers. Look for the method of the model that enables checkpointing."
    code, measured = "not_checkpointed", f"{runs} runs"
    if not all(facts["is_training"]):
        look_at = "You leave the model or its layers in eval mode, where checkpointing does nothing. "
        look_at += "Call model.train(), which reaches every layer; the attribute `training` does not."
        code, measured = "in_eval_mode", f"{runs} runs, in eval mode"
    elif embeddings > forwards:
        look_at = (
            "You put the whole model into one checkpoint, so backward holds all layers at once. Checkpoint each layer."
        )
        code, measured = "whole_model_in_one_checkpoint", f"{runs} runs, and {embeddings} of the embeddings"
    elif max(layers) > 2 * forwards:
        look_at = "You run a layer more than twice. Look for a checkpoint inside another one."
        code = "recomputed_too_often"
    elif len(set(layers)) > 1:
        look_at = "You checkpoint some of the layers. Look at every_n_layers: every layer needs it."
        code = "some_layers_not_checkpointed"
    elif form == "trainer":
        look_at = "You do not checkpoint the layers. Look for the argument of TrainingArguments that enables it."
    return Verdict(f"{form}_{code}", expected, measured, look_at)


def _judge_rows(case: FormsCase, facts: Facts, calls: Facts, form: str) -> Verdict | None:
    """Find out whether the forwards have other rows than those of the updates, for a reason that can be named."""
    rows, full = list(facts["forward_rows"]), case.pairs // case.rows
    expected = f"{case.updates} forwards of {case.rows} rows"
    if form == "trainer" and set(calls["trainer"]) != {1}:
        look_at = "You accumulate gradients, but every batch is an update here. Look at gradient_accumulation_steps."
        return Verdict("trainer_accumulates", expected, f"{calls['trainer'][0]} forwards for an update", look_at)
    if set(rows) == {1}:
        name = (
            "per_device_train_batch_size" if form == "trainer" else "batch_size of the DataLoader, whose default is 1"
        )
        return Verdict(
            f"{form}_row_by_row", expected, f"{len(rows)} forwards of 1 row", f"You train row by row. Look at {name}."
        )
    if form == "trainer" and len(rows) < full and set(rows) == {case.rows}:
        return Verdict(
            "trainer_stops_early",
            expected,
            f"{len(rows)} forwards",
            "You stop before the epoch ends. Look at max_steps.",
        )
    if max(rows, default=0) < case.rows:
        look_at = "You train on fewer rows at a time than asked for. Look at where the argument rows goes."
        return Verdict(f"{form}_other_rows", expected, f"forwards of {max(rows, default=0)} rows", look_at)
    return _judge_last_rows(case, facts, form)


def _judge_last_rows(case: FormsCase, facts: Facts, form: str) -> Verdict | None:
    """Find out whether the rows after the last full update are left out."""
    rows, rest = facts["forward_rows"], case.pairs % case.rows
    if not rest or list(rows) != [case.rows] * (case.pairs // case.rows):
        return None
    expected = f"{case.updates} forwards, the last of {count(rest, 'row')}"
    look_at = "You leave out the last rows, which are fewer and have an update of their own. Look at drop_last."
    return Verdict(f"{form}_last_rows_left_out", expected, f"{len(rows)} forwards of {case.rows} rows", look_at)


@keep_cases
def _make_reference(case: FormsCase) -> Reference:
    model, batches = case.make_model(), case.make_batches()

    def loss(number: int) -> Tensor:
        mean: Tensor = model(**batches[number]).loss
        return mean

    return Reference(case.updates, 1, case.rows, case.learning_rate, partial(gradient_at, model, loss))
