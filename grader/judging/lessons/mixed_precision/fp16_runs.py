"""Judges fp16 training with a scaler for the device that the model is on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.kept import keep_cases
from grader.judging.lessons.mixed_precision.regions import NO_FORWARD, judge_backward, judge_format, judge_weights
from grader.judging.lessons.mixed_precision.weights import judge_movement, judge_start
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.mixed_precision.groups import FP16_LEARNING_RATE, DeviceCase, device_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

# A layer's gradient in fp16 is off by 1.5 % at most here; where it underflows, by 100 % and more.
LAYER_TOLERANCE = 0.1
CLIPPED_TO = (1.0, 0.5, 0.1)  # the largest norms that tutorials clip to, and below the norm of one update here


def judge_fp16_on_its_device(observation: Observation, seed: int) -> Verdict:
    """Judge every setting on every device, and report the first that differs."""
    settings: Sequence[Mapping[str, Any]] = observation.facts["settings"]
    cases = device_cases(seed)
    if not settings or len(settings) % len(cases) or {facts["device"] for facts in settings} - {"cpu", "cuda"}:
        raise ValueError("not one run of each case on each device")
    worst = 0.0
    for index, facts in enumerate(settings):
        case = cases[index % len(cases)]
        verdict = _judge_facts(case, facts)
        if verdict:
            return verdict
        verdict, error = _judge_updates(case, facts, tensors_of(observation, index))
        if verdict:
            return verdict
        worst = max(worst, error)
    others = [device for device in observation.facts["asked_devices"] if device != "meta"]
    if others:
        look_at = "You write the device down. Ask the model or its inputs: autocast and the scaler follow them."
        measured = f"for a model on the device 'meta', autocast or a scaler for {', '.join(others)}"
        return Verdict("device_written_down", "autocast and a scaler for the model's device", measured, look_at)
    measured = f"every layer has its gradient in fp16, off by {worst:.1%} at most"
    return Verdict(PASSED, "fp16 with a scaler that is at work", measured)


def _judge_facts(case: DeviceCase, facts: Mapping[str, Any]) -> Verdict | None:
    rows = facts["forward_rows"]
    if not rows:
        return NO_FORWARD
    if len(rows) != case.updates:
        expected = f"{case.updates} forwards, one for each micro-batch"
        look_at = f"You run {len(rows)} forwards for {case.updates} micro-batches. Go through them once."
        return Verdict("micro_batches_not_seen_once", expected, f"{len(rows)} forwards", look_at)
    if not all(facts["is_training"]):
        look_at = "You train in eval mode. Leave the model in train mode."
        return Verdict("eval_mode", "a model in train mode in every forward", "a forward in eval mode", look_at)
    return (
        _judge_libraries(facts)
        or judge_weights(facts)
        or judge_format(facts, "float16")
        or judge_backward(facts)
        or _judge_scaler(facts)
    )


def _judge_libraries(facts: Mapping[str, Any]) -> Verdict | None:
    if not any(seen["precision"] == "fp16" and not seen["has_scaler"] for seen in facts["accelerators"]):
        return None
    look_at = "You use Accelerate, which drops fp16 on a CPU. Write the autocast region and the scaler yourself."
    measured = "an fp16 run without a scaler: its forwards were float32"
    return Verdict("fp16_without_scaler", "forwards in fp16, and a scaler", measured, look_at)


def _judge_scaler(facts: Mapping[str, Any]) -> Verdict | None:
    expected = f"a GradScaler that is at work for a model on {facts['device']}"
    if not facts["scalers"]:
        return None  # a scaler of the learner's own is judged by its gradients
    if not any(scaler["is_enabled"] for scaler in facts["scalers"]):
        device = facts["scalers"][0]["device"]
        if device == facts["device"]:
            look_at = "You switch the scaler off, so it neither scales nor skips. Leave out enabled=False."
            return Verdict("scaler_switched_off", expected, "a GradScaler that is not enabled", look_at)
        measured = f"a GradScaler for {device}, which has switched itself off"
        look_at = "You make the scaler for another device than the model's; its default is cuda. Give it the device."
        return Verdict("scaler_for_another_device", expected, measured, look_at)
    if not facts["scaled_losses"]:
        look_at = "You make a scaler and never scale a loss. Call backward() on scaler.scale(loss)."
        return Verdict("loss_not_scaled", expected, "no loss was scaled", look_at)
    if len(facts["scalers"]) > 1:
        look_at = (
            "You make a scaler for each micro-batch, which forgets the scale of the last. Make one before the loop."
        )
        measured = f"{len(facts['scalers'])} GradScalers"
        return Verdict("scaler_made_again", expected, measured, look_at)
    return None


def _judge_updates(
    case: DeviceCase, facts: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> tuple[Verdict | None, float]:
    changed = judge_start(tensors, case.make_model())
    if changed:
        return changed, 0.0
    good = [update for update in range(case.updates) if update != case.overflowing]
    updates = facts["events"].count("update")
    worst = 0.0
    for place, number in enumerate(good):
        if updates <= place:
            if case.overflowing >= 0 and updates == case.overflowing:
                look_at = "You keep the gradients of the skipped update. Clear them before the next backward()."
                measured = f"{updates} updates, and none after the one that overflows"
                return Verdict("infinity_kept", f"{len(good)} updates", measured, look_at), worst
            look_at = "You leave out steps with finite gradients. Let scaler.step(optimizer) decide."
            return Verdict("update_missing", f"{len(good)} updates", f"{updates} updates", look_at), worst
        seen = tensors[f"gradient.{place}"]
        if not bool(torch.isfinite(seen).all()):
            return _explain_infinity(updates, good), worst
        verdict, error = _judge_gradient(case, number, tensors[f"weights.{place}"], seen, facts["scaled_losses"])
        if verdict:
            return verdict, worst
        worst = max(worst, error)
    if updates > len(good):
        return _explain_infinity(updates, good), worst
    movements = (
        judge_movement(tensors, place, FP16_LEARNING_RATE, f"update {place + 1}") for place in range(len(good))
    )
    return next(filter(None, movements), None), worst


def _explain_infinity(updates: int, good: Sequence[int]) -> Verdict:
    expected = f"{len(good)} updates, with finite gradients"
    if updates > len(good):
        look_at = "You step although a gradient is inf. Call scaler.step(optimizer), which leaves such steps out."
        return Verdict("not_skipped", expected, f"{updates} updates, one of them with inf or NaN", look_at)
    look_at = "You leave out another update than the one with inf. Decide by the gradients, not by the number."
    return Verdict("another_update_skipped", expected, "an update with inf or NaN", look_at)


def _judge_gradient(
    case: DeviceCase, number: int, weights: Tensor, seen: Tensor, scaled_losses: int
) -> tuple[Verdict | None, float]:
    """Compare layer by layer: the small gradients of the first layers vanish in the norm of all."""
    wanted = _gradient(case, number, weights)
    expected = f"at micro-batch {number + 1} (counted from 1), the gradient of the float32 loss in every layer"
    whole = compare(seen, wanted)
    if whole.residual <= LAYER_TOLERANCE and abs(whole.factor * case.updates - 1) < LAYER_TOLERANCE:
        look_at = "You divide by the number of micro-batches. Leave the loss undivided: each has an update of its own."
        return Verdict("divided_by_updates", expected, f"1/{case.updates} of that gradient", look_at), 0.0
    norm = float(torch.linalg.vector_norm(wanted))
    limit = next((limit for limit in CLIPPED_TO if abs(whole.factor * norm / limit - 1) < 1e-2 < norm / limit - 1), 0.0)
    if whole.residual <= LAYER_TOLERANCE and limit:
        measured = f"that gradient, clipped from norm {norm:.3g} to {limit:g}"
        look_at = f"You clip the gradient to norm {limit:g}. Leave it as it is: nothing is clipped here."
        return Verdict("gradient_clipped", expected, measured, look_at), 0.0
    if whole.residual <= LAYER_TOLERANCE and abs(whole.factor - 1) > LAYER_TOLERANCE:
        measured = f"{whole.factor:,.4g} times that gradient"
        look_at = "You step on a multiple of the gradient. Call scaler.step(optimizer), which divides by the scale."
        return Verdict("gradient_scaled", expected, measured, look_at), 0.0
    sizes = [weight.numel() for weight in _model(case).parameters()]
    layers = list(zip(torch.split(seen, sizes), torch.split(wanted, sizes), strict=True))
    errors = [compare(mine, right).relative_error for mine, right in layers]
    if max(errors) <= LAYER_TOLERANCE:
        return None, max(errors)
    first = layers[0][0]
    measured = f"a gradient off by {max(errors):.0%} in one layer; {float((first == 0).double().mean()):.0%} zeros"
    if not bool(seen.any()):
        look_at = "You clear the gradients before the step. Clear them after it."
        return Verdict("cleared_before_update", expected, "no gradient", look_at), 0.0
    if whole.relative_error <= LAYER_TOLERANCE or bool((first == 0).double().mean() > 0.5):
        code, look_at = "gradient_underflows", "You lose small gradients, which are 0 in fp16. Scale the loss."
        if scaled_losses:
            look_at = "You scale the loss too little, so small gradients are still 0. Start with a larger scale."
            code = "scale_too_small"
        return Verdict(code, expected, f"{measured} in the first", look_at), 0.0
    look_at = "Your update has another gradient. Look at what is left in .grad, and at what you do to it."
    return Verdict("other_gradient", expected, measured, look_at), 0.0


@keep_cases
def _model(case: DeviceCase) -> nn.Sequential:
    return case.make_model()


def _gradient(case: DeviceCase, number: int, weights: Tensor) -> Tensor:
    model, (inputs, targets) = _model(case), case.make_micro_batches()[number]
    return gradient_at(model, lambda _: F.mse_loss(model(inputs), targets), weights, 0)
