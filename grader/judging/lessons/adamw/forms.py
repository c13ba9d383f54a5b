"""Judges AdamW with two groups under Accelerate and the Trainer: used as taught, and equal to the raw loop."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from grader.judging.decay_groups import judge_options, options_of
from grader.judging.forms import Facts, name_form
from grader.judging.optimizer_forms import (
    FORMS_LOOK_AT,
    in_batches,
    judge_batches,
    judge_usage,
    make_loop_reference,
    split_by_parameters,
)
from grader.judging.step_paths import measure_miss
from grader.judging.updates import judge_gradients
from grader.judging.vectors import tensors_of
from grader.lessons.adamw.forms import decay_forms_cases
from grader.observation import Observation
from grader.testbed.pair_runs import DecayFormsCase
from grader.verdict import PASSED, Verdict

# Fused AdamW differs from the loop over tensors by its rounding: by up to 1e-4 of the movement after five updates.
TOLERANCE = 1e-3
BETAS, EPSILON = (0.9, 0.999), 1e-8  # of torch.optim.AdamW and of the Trainer

LOOK_AT = FORMS_LOOK_AT | {
    "trainer_decay_zero": "You leave weight_decay of TrainingArguments at its default, 0.0, so both groups are alike.",
    "accelerate_decay_zero": "You decay no parameter. Look at the group with weight_decay: it is empty, or its decay "
    "is 0.0.",
}


def judge_adamw_accelerate_form(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form: used as taught, and equal to the raw loop."""
    return _judge_forms(observation, seed, "accelerate")


def judge_adamw_trainer_form(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form: used as taught, and equal to the raw loop."""
    return _judge_forms(observation, seed, "trainer")


def _judge_forms(observation: Observation, seed: int, form: str) -> Verdict:
    cases, furthest = decay_forms_cases(seed), 0.0
    misused = judge_usage(cases, observation, form)
    if misused:
        return misused
    for index, case in enumerate(cases):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = judge_batches(case, facts, observation.facts["calls"][index], form)
        verdict = (
            verdict
            or judge_options(case, facts["options"])
            or judge_gradients(facts, tensors, make_loop_reference(case))
        )
        verdict = verdict or _judge_movement(case, tensors, facts)
        if verdict:
            return in_batches(name_form(verdict, form, LOOK_AT))
        furthest = max(furthest, _distance(case, tensors))
    updates = sum(case.updates for case in cases)
    measured = f"{updates} updates with two groups, at most {furthest:.1e} of the movement from the raw loop"
    return Verdict(PASSED, "the weights of the raw loop", measured)


def _judge_movement(case: DecayFormsCase, tensors: Mapping[str, Tensor], facts: Facts) -> Verdict | None:
    if _distance(case, tensors) <= TOLERANCE:
        return None
    names = sorted({str(options["optimizer"]) for options in facts["options"]})
    expected = f"the weights that AdamW leads to, with lr {case.learning_rate:g}"
    measured = f"weights that are off by {_distance(case, tensors):.2g} of the movement, by {', '.join(names)}"
    for constants in facts["constants"] if names == ["AdamW"] else ():
        betas, eps = tuple(constants["betas"]), float(constants["eps"])
        if betas != BETAS:
            look_at = f"You use betas of {betas[0]:g} and {betas[1]:g}. Leave them at their defaults, 0.9 and 0.999."
            return Verdict("other_betas", expected, measured, look_at)
        if eps != EPSILON:
            look_at = f"You use an epsilon of {eps:g}. Leave it at its default, {EPSILON:g}."
            return Verdict("other_epsilon", expected, measured, look_at)
    look_at = "You move the weights with another optimizer than AdamW, or with other options. Look at both."
    return Verdict("another_optimizer", expected, measured, look_at)


def _distance(case: DecayFormsCase, tensors: Mapping[str, Tensor]) -> float:
    """Return how far the weights are from those that AdamW leads to from the gradients that were seen."""
    model = case.make_model()
    start = nn.utils.parameters_to_vector(model.parameters()).detach()
    optimizer = torch.optim.AdamW(options_of(model, case.weight_decay), lr=case.learning_rate, foreach=False)
    for update in range(case.updates):
        gradient = tensors[f"gradient.{update}"]
        for parameter, part in zip(model.parameters(), split_by_parameters(gradient, model), strict=True):
            parameter.grad = part
        optimizer.step()
    wanted = nn.utils.parameters_to_vector(model.parameters()).detach()
    return measure_miss(tensors, case.updates, start, wanted)
