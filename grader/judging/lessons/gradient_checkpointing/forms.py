"""Verdicts on checkpointed layers under Accelerate and under the Trainer: used, and equal to the raw loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

from torch import Tensor

from grader.judging.forms import TRAINER_DEFAULTS, Facts, count, judge_models, name_form
from grader.judging.updates import Reference, judge_updates
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.gradient_checkpointing.forms import LAYERS, LEARNING_RATE, FormsCase, forms_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

# A group of one micro-batch: what judges of accumulation call a group is an update here.
LOOK_AT = TRAINER_DEFAULTS | {
    "trainer_other_gradient": "train_sampling_strategy: the Trainer's default draws the rows at random",
    "trainer_whole_group_in_one_forward": "per_device_train_batch_size: the Trainer's default is 8",
    "trainer_micro_batches_not_seen_once": "per_device_train_batch_size, and how many rows an update has",
    "accelerate_other_gradient": "shuffle of the loader: the raw loop sees the rows in their order",
    "accelerate_no_update": "whose parameters the optimizer holds",
}


def judge_checkpointed_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the loop with Accelerate: prepared, checkpointed, and equal to the raw loop."""
    for case, facts, calls in _settings(observation, seed):
        verdict = _judge_accelerate(case, calls) or _judge_form(case, facts, calls, "accelerate")
        if verdict:
            return verdict
    return _judge_updates(observation, seed, "accelerate")


def judge_checkpointed_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the run of the Trainer: checkpointed, and equal to the raw loop."""
    for case, facts, calls in _settings(observation, seed):
        verdict = _judge_trainer(calls) or _judge_form(case, facts, calls, "trainer")
        if verdict:
            return verdict
    return _judge_updates(observation, seed, "trainer")


def _settings(observation: Observation, seed: int) -> Iterator[tuple[FormsCase, Facts, Facts]]:
    return zip(forms_cases(seed), observation.facts["settings"], observation.facts["calls"], strict=True)


def _judge_accelerate(case: FormsCase, calls: Facts) -> Verdict | None:
    expected = f"a prepared model and optimizer, and {count(case.updates, 'call')} of accelerator.backward"
    for name in ("model", "optimizer"):
        if name not in calls["prepared"]:
            return Verdict(f"{name}_not_prepared", expected, f"no {name} prepared", "what accelerator.prepare is given")
    if not calls["backward"]:
        look_at = "loss.backward() in place of accelerator.backward(loss)"
        return Verdict("accelerator_backward_not_used", expected, "no call of accelerator.backward", look_at)
    if "optimizer" not in calls["used"]:
        look_at = "what accelerator.prepare returns: the loop has to take these objects, not those it was given"
        return Verdict("prepared_objects_dropped", expected, "no step of the prepared optimizer", look_at)
    return None


def _judge_trainer(calls: Facts) -> Verdict | None:
    if calls["trainer"]:
        return None
    look_at = "Trainer(...) only prepares: who calls .train()?"
    return Verdict("trainer_not_used", "one Trainer.train", "Trainer.train was not called", look_at)


def _judge_form(case: FormsCase, facts: Facts, calls: Facts, form: str) -> Verdict | None:
    verdict = judge_models(case.updates, facts, calls, is_in_trainer=form == "trainer")
    return verdict or _judge_layers(facts, form) or _judge_rows(case, facts, calls, form)


def _judge_layers(facts: Facts, form: str) -> Verdict | None:
    """Find out whether each layer ran twice for each forward of the model, and the embeddings once."""
    forwards = len(facts["forward_rows"])
    embeddings, *layers = (facts["part_runs"].count(part) for part in range(1 + LAYERS))
    if embeddings <= forwards and set(layers) == {2 * forwards}:
        return None
    runs = " and ".join(map(str, layers))
    expected = f"{2 * forwards} runs of each layer for {count(forwards, 'forward')} of the model: one more in backward"
    code, measured, look_at = "not_checkpointed", f"{runs} runs", "the method of the model that enables checkpointing"
    if not all(facts["is_training"]):
        look_at = "in eval mode a checkpointed layer runs as if nothing had been enabled: who calls model.train()?"
        code, measured = "in_eval_mode", f"{runs} runs, in eval mode"
    elif embeddings > forwards:
        look_at = "one checkpoint around the whole model: in backward all layers are in memory at once"
        code, measured = "whole_model_in_one_checkpoint", f"{runs} runs, and {embeddings} of the embeddings"
    elif max(layers) > 2 * forwards:
        code, look_at = "recomputed_too_often", "a layer that runs more than twice: is a checkpoint inside another one?"
    elif len(set(layers)) > 1:
        code, look_at = "some_layers_not_checkpointed", "every_n_layers: every layer is to be checkpointed"
    elif form == "trainer":
        look_at = "the argument of TrainingArguments that enables checkpointing"
    return Verdict(f"{form}_{code}", expected, measured, look_at)


def _judge_rows(case: FormsCase, facts: Facts, calls: Facts, form: str) -> Verdict | None:
    """Find out whether the forwards have other rows than those of the updates, for a reason that can be named."""
    rows, full = list(facts["forward_rows"]), case.pairs // case.rows
    expected = f"{case.updates} forwards of {case.rows} rows"
    if form == "trainer" and set(calls["trainer"]) != {1}:
        look_at = "gradient_accumulation_steps: every batch is an update here"
        return Verdict("trainer_accumulates", expected, f"{calls['trainer'][0]} forwards for an update", look_at)
    if set(rows) == {1}:
        name = (
            "per_device_train_batch_size" if form == "trainer" else "batch_size of the DataLoader, whose default is 1"
        )
        return Verdict(f"{form}_row_by_row", expected, f"{len(rows)} forwards of 1 row", f"{name}: rows are asked for")
    if form == "trainer" and len(rows) < full and set(rows) == {case.rows}:
        return Verdict("trainer_stops_early", expected, f"{len(rows)} forwards", "max_steps: one epoch is asked for")
    if max(rows, default=0) < case.rows:
        return Verdict(f"{form}_other_rows", expected, f"forwards of {max(rows, default=0)} rows", "the argument rows")
    return _judge_last_rows(case, facts, form)


def _judge_last_rows(case: FormsCase, facts: Facts, form: str) -> Verdict | None:
    """Find out whether the rows after the last full update are left out."""
    rows, rest = facts["forward_rows"], case.pairs % case.rows
    if not rest or list(rows) != [case.rows] * (case.pairs // case.rows):
        return None
    expected = f"{case.updates} forwards, the last of {count(rest, 'row')}"
    look_at = "drop_last: the last rows are fewer, and an update of their own"
    return Verdict(f"{form}_last_rows_left_out", expected, f"{len(rows)} forwards of {case.rows} rows", look_at)


def _judge_updates(observation: Observation, seed: int, form: str) -> Verdict:
    cases = forms_cases(seed)
    for index, case in enumerate(cases):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = judge_updates(facts, tensors, _make_reference(case))
        if verdict:
            return name_form(verdict, form, LOOK_AT)
    updates = sum(case.updates for case in cases)
    measured = f"{updates} updates with recomputed layers, each with the gradient of the raw loop"
    return Verdict(PASSED, "the gradient of the raw loop at every update", measured)


@lru_cache(maxsize=8)
def _make_reference(case: FormsCase) -> Reference:
    model, dataset = case.make_model(), case.make_dataset()
    batches = [dataset[start : start + case.rows] for start in range(0, case.pairs, case.rows)]

    def loss(number: int) -> Tensor:
        mean: Tensor = model(**batches[number]).loss
        return mean

    return Reference(case.updates, 1, case.rows, LEARNING_RATE, partial(gradient_at, model, loss))
