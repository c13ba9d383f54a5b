"""Judges bf16 with Accelerate and with the Trainer: the format was used, and the weights are the raw loop's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from grader.judging.equivalence import compare
from grader.judging.forms import TRAINER_DEFAULTS, count, judge_models, name_form
from grader.judging.lessons.mixed_precision.regions import judge_backward
from grader.judging.lessons.mixed_precision.weights import judge_start
from grader.judging.updates import Reference, judge_updates
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.mixed_precision.forms import PAIRS_LEARNING_RATE, PrecisionFormsCase, precision_forms_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Facts = Mapping[str, Any]

BF16_TOLERANCE = 0.08  # bf16 rounds by 2**-8 at each layer, which leaves up to 2 % on these models

LOOK_AT = TRAINER_DEFAULTS | {
    "accelerate_gradient_not_cleared": "You keep the gradient of the last update. Call zero_grad() in each iteration.",
    "trainer_other_gradient": "Your Trainer updates with another gradient. Look at the order in which it draws rows.",
}
FORMAT_NAMES = {"float16": "fp16", "float32": "float32", "bfloat16": "bf16"}
WHERE = {
    "accelerate": "Look at mixed_precision of the Accelerator.",
    "trainer": "Look at bf16 and fp16 of TrainingArguments.",
}


def judge_accelerate_bf16(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form."""
    return _judge_form(observation, seed, "accelerate")


def judge_trainer_bf16(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form."""
    return _judge_form(observation, seed, "trainer")


def _judge_form(observation: Observation, seed: int, form: str) -> Verdict:
    cases = precision_forms_cases(seed)
    for case, facts, calls in _settings(observation, seed):
        is_trainer = form == "trainer"
        verdict = (
            (_judge_entry(calls, form) if is_trainer else None)
            or judge_models(_batches(case), facts, calls, is_in_trainer=is_trainer)
            or _judge_entry(calls, form)
            or _judge_format(facts, form)
            or judge_backward(facts)
        )
        if verdict:
            return verdict
    for index, (case, facts, _) in enumerate(_settings(observation, seed)):
        verdict = _judge_training(case, facts, tensors_of(observation, index))
        if verdict:
            return name_form(verdict, form, LOOK_AT)
    updates = sum(_batches(case) for case in cases)
    measured = f"{updates} updates in bf16, each with the gradient of the raw bf16 loop, and no scaler"
    return Verdict(PASSED, "the weights of the raw bf16 loop", measured)


def _settings(observation: Observation, seed: int) -> Iterator[tuple[PrecisionFormsCase, Facts, Facts]]:
    facts = observation.facts
    return zip(precision_forms_cases(seed), facts["settings"], facts["calls"], strict=True)


def _batches(case: PrecisionFormsCase) -> int:
    return -(-case.pairs // case.rows)


def _judge_entry(calls: Facts, form: str) -> Verdict | None:
    """Find out whether the form was used at all."""
    if form == "trainer":
        if calls["trainer"]:
            return None
        look_at = "You make a Trainer, or none, but never train with it. Call .train() on it."
        return Verdict("trainer_not_used", "one Trainer.train", "Trainer.train was not called", look_at)
    expected = "model, optimizer and loader prepared, and backward by the accelerator"
    if not calls["prepared"]:
        look_at = "You write the loop without Accelerate. Use accelerator.prepare and accelerator.backward."
        return Verdict("accelerate_not_used", expected, "nothing was prepared", look_at)
    missing = {"model", "optimizer", "loader"} - set(calls["prepared"])
    if missing:
        measured = f"not prepared: {', '.join(sorted(missing))}"
        look_at = "You leave something out of accelerator.prepare. Give it model, optimizer and loader."
        return Verdict("not_prepared", expected, measured, look_at)
    unused = {"optimizer", "loader"} - set(calls["used"])
    if unused:
        look_at = "You prepare and then use the originals. Use what accelerator.prepare returns."
        measured = f"prepared and then not used: {', '.join(sorted(unused))}"
        return Verdict("prepared_not_used", f"{expected}, and used", measured, look_at)
    if not calls["backward"]:
        look_at = "You call loss.backward(). Call accelerator.backward(loss), which in fp16 scales the loss."
        return Verdict("loss_backward", expected, "no accelerator.backward", look_at)
    return None


def _judge_format(facts: Facts, form: str) -> Verdict | None:
    formats = set(facts["autocast_formats"])
    expected = "every forward under autocast, in bf16, and no scaler"
    asked = {accelerator["precision"] for accelerator in facts["accelerators"]}
    has_scaler = any(accelerator["has_scaler"] for accelerator in facts["accelerators"])
    if formats == {"float32"} and asked == {"fp16"} and not has_scaler:
        measured = "an fp16 run without a scaler: its forwards were float32"
        look_at = f"You ask for fp16, which is dropped on a CPU without a warning. {WHERE[form]}"
        return Verdict(f"{form}_fp16_without_scaler", expected, measured, look_at)
    if formats == {"bfloat16"} and form == "accelerate" and asked - {"bf16"}:
        look_at = "You enter autocast by hand, which is the raw form. Give the Accelerator its mixed_precision."
        measured = f"an Accelerator of precision {', '.join(sorted(asked))}"
        return Verdict("accelerate_without_precision", "an Accelerator of precision bf16", measured, look_at)
    if formats == {"bfloat16"}:
        return None
    measured = f"forwards in {', '.join(sorted(FORMAT_NAMES.get(name, str(name)) for name in formats))}"
    code = f"{form}_in_float32" if formats == {"float32"} else f"{form}_in_another_format"
    return Verdict(code, expected, measured, f"You run {measured}, not in bf16. {WHERE[form]}")


def _judge_training(case: PrecisionFormsCase, facts: Facts, tensors: Mapping[str, Tensor]) -> Verdict | None:
    rows = list(facts["forward_rows"])
    right = [min(case.rows, case.pairs - start) for start in range(0, case.pairs, case.rows)]
    if rows == right[:-1]:
        look_at = "You leave out the last batch, which has fewer rows. Look at how your loader ends the epoch."
        return Verdict("last_batch_dropped", f"{len(right)} forwards", count(len(rows), "forward"), look_at)
    if rows[: len(right)] == right[:1] * len(right) and right[-1] != right[0]:
        look_at = "You train on batches of other sizes. Look at the rows of each batch and at the end of the epoch."
        return Verdict("other_rows", f"forwards of {right} rows", f"forwards of {rows} rows", look_at)
    changed = judge_start(tensors, case.make_model())
    if changed:
        return changed
    reference = Reference(len(right), 1, case.rows, PAIRS_LEARNING_RATE, _snapped(case, tensors))
    return judge_updates(facts, tensors, reference)


def _snapped(case: PrecisionFormsCase, tensors: Mapping[str, Tensor]) -> Any:
    """Return the reference's gradient of each update, brought to the one that was seen where only rounding differs.

    What remains between the two is then a factor or another direction, and both are judged exactly.
    """

    def gradient(weights: Tensor, number: int) -> Tensor:
        wanted, seen = _bf16_gradient(case, weights, number), tensors[f"gradient.{number}"]
        comparison = compare(seen, wanted)
        if comparison.relative_error <= BF16_TOLERANCE:
            return seen
        return seen / comparison.factor if comparison.residual <= BF16_TOLERANCE and comparison.factor > 0 else wanted

    return gradient


@lru_cache(maxsize=4)
def _parts(case: PrecisionFormsCase) -> tuple[Any, Any]:
    return case.make_model(), case.make_dataset()


def _bf16_gradient(case: PrecisionFormsCase, weights: Tensor, number: int) -> Tensor:
    model, dataset = _parts(case)
    batch = dataset[number * case.rows : (number + 1) * case.rows]

    def loss(_: int) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            mean: Tensor = model(**batch).loss
        return mean

    return gradient_at(model, loss, weights, number)
