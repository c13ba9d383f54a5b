"""Judges bf16 with Accelerate and with the Trainer: the format, the raw loop's weights, and the peak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.judging.equivalence import compare
from grader.judging.form_peaks import judge_form_peak
from grader.judging.forms import TRAINER_DEFAULTS, count, judge_own_form, name_form
from grader.judging.kept import keep_cases
from grader.judging.lessons.mixed_precision.regions import NO_FORWARD, judge_backward, judge_mode, judge_weights
from grader.judging.lessons.mixed_precision.weights import judge_start
from grader.judging.updates import Reference, judge_updates
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.mixed_precision.forms import (
    PAIRS_LEARNING_RATE,
    PrecisionFormsCase,
    precision_forms_cases,
    precision_peak_case,
)
from grader.observation import Observation
from grader.verdict import Verdict

Facts = Mapping[str, Any]

BF16_TOLERANCE = 0.03  # bf16 rounds by 2**-8 at each layer; CUDA's autocast lists leave up to 0.8 % on these rows
SHARE = 0.85  # bf16 holds 0.73 of the float32 run's peak in each form: LayerNorm and the residual stream stay float32

LOOK_AT = TRAINER_DEFAULTS | {
    "accelerate_gradient_not_cleared": "You keep the gradient of the last update. Call zero_grad() in each iteration.",
    "trainer_other_gradient": "Your Trainer updates with another gradient. Look at the order in which it draws rows.",
}
FORMAT_NAMES = {"float16": "fp16", "float32": "float32", "bfloat16": "bf16"}
WHERE = {
    "accelerate": "Look at mixed_precision of the Accelerator.",
    "trainer": "Look at bf16 and fp16 of TrainingArguments.",
}


def judge_autocast_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the loop with Accelerate: in bf16, equal to the raw loop, and with its peak."""
    return _judge_form(observation, seed, "accelerate")


def judge_autocast_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the run of the Trainer: in bf16, equal to the raw loop, and with its peak."""
    return _judge_form(observation, seed, "trainer")


def _judge_form(observation: Observation, seed: int, form: str) -> Verdict:
    cases, facts = precision_forms_cases(seed), observation.facts
    for seen, calls in zip(facts["settings"], facts["calls"], strict=True):
        verdict = (
            (NO_FORWARD if form == "accelerate" and not seen["forward_rows"] else None)
            or judge_own_form(seen, calls, is_in_trainer=form == "trainer")
            or (_judge_prepared(calls) if form == "accelerate" else None)
            or _judge_accumulation(calls, form)
            or judge_weights(seen)
            or _judge_format(seen, form)
            or judge_backward(seen)
            or judge_mode(seen)
        )
        if verdict:
            return verdict
    for index, (case, seen) in enumerate(zip(cases, facts["settings"], strict=True)):
        verdict = _judge_training(case, seen, tensors_of(observation, index))
        if verdict:
            return name_form(verdict, form, LOOK_AT)
    (claim,), large = facts["claims"], precision_peak_case(seed)
    look_at = (
        "You hold more than one update in bf16 needs. Look for lists of losses or outputs, and for casts to float32."
    )
    peak = judge_form_peak(
        claim, large.make_model, large.make_batches, SHARE, code=f"{form}_tensors_kept", look_at=look_at
    )
    updates = sum(-(-case.pairs // case.rows) for case in cases)
    measured = f"{updates} updates in bf16, each with the raw loop's gradient; peak {peak.measured}"
    return replace(peak, measured=measured) if peak.is_passed else peak


def _judge_prepared(calls: Facts) -> Verdict | None:
    """Find out what of Accelerate was used."""
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


def _judge_accumulation(calls: Facts, form: str) -> Verdict | None:
    """Find out whether gradients are accumulated."""
    steps = max([*calls["trainer"], *calls["backward"]], default=1)
    if steps == 1:
        return None
    look_at = f"You accumulate the gradients of {steps} batches. Leave gradient_accumulation_steps at 1."
    return Verdict(f"{form}_accumulates", "one update for each batch", count(steps, "accumulation step"), look_at)


def _judge_format(facts: Facts, form: str) -> Verdict | None:
    formats = set(facts["autocast_formats"])
    expected = "every forward under autocast, in bf16, and no scaler"
    asked = {accelerator["precision"] for accelerator in facts["accelerators"]}
    has_scaler = any(accelerator["has_scaler"] for accelerator in facts["accelerators"])
    if formats == {"float32"} and asked == {"fp16"} and not has_scaler:
        measured = "an fp16 run without a scaler: its forwards were float32"
        look_at = f"You ask for fp16, which is dropped on a CPU without a warning. {WHERE[form]}"
        return Verdict(f"{form}_fp16_without_scaler", expected, measured, look_at)
    if formats == {"bfloat16"} and asked - {"bf16"}:
        look_at = f"You enter autocast by hand, which is the raw form. Ask the library for bf16. {WHERE[form]}"
        measured = f"an Accelerator of precision {', '.join(sorted(asked))}"
        return Verdict(f"{form}_without_precision", "an Accelerator of precision bf16", measured, look_at)
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


@keep_cases
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
