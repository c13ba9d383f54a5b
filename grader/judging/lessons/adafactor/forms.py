"""Verdicts on Adafactor under Accelerate and the Trainer: used as taught, and equal to the raw loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from grader.judging.forms import name_form
from grader.judging.lessons.adafactor.second_moment import factored_second_moment
from grader.judging.lessons.adafactor.steps import root_mean_square
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
from grader.lessons.adafactor.forms import adafactor_forms_cases
from grader.observation import Observation
from grader.testbed.pair_runs import DecayFormsCase
from grader.verdict import PASSED, UNRECOGNISED, Verdict

# The same steps in float32 and in float64 end within 1e-4 of the movement; the nearest other option is 0.1 away.
TOLERANCE = 1e-3
DECAY_RATE, EPS = -0.8, 1e-30  # defaults of transformers
DEFAULT_RATE = 5e-5  # of TrainingArguments

LOOK_AT = FORMS_LOOK_AT | {
    "trainer_adamw_left_in": "You train with AdamW. Set optim of TrainingArguments, whose default is AdamW.",
    "trainer_other_learning_rate": "You train with another learning rate. "
    "Set learning_rate of TrainingArguments to the argument lr.",
    "trainer_visible_case_hard_coded": "You give TrainingArguments a learning rate that is right for another run. "
    "Set learning_rate to the argument lr.",
    "trainer_torch_adafactor": "You train with torch's Adafactor, which always scales by the weight. "
    "Set optim of TrainingArguments to adafactor, which is that of transformers.",
    "trainer_scale_parameter_on": "You let the weight scale the Trainer's rate. "
    "Leave scale_parameter at False, as optim of TrainingArguments sets it.",
    "trainer_relative_step_on": "You let the step set the Trainer's rate. "
    "Leave relative_step at False, as optim of TrainingArguments sets it.",
    "trainer_decay_set": "You let the Trainer decay the weights. Leave weight_decay of TrainingArguments at 0.",
    "trainer_updates_misplaced": "You do not update exactly once for each batch. Look at gradient_accumulation_steps.",
    "accelerate_updates_misplaced": "You do not step exactly once after each backward. Look at where step() is.",
    "accelerate_other_learning_rate": "You give your Adafactor another learning rate. Pass it the argument lr.",
}


def judge_adafactor_accelerate_form(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form: used as taught, and equal to the raw loop."""
    return _judge_forms(observation, seed, "accelerate")


def judge_adafactor_trainer_form(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form: used as taught, and equal to the raw loop."""
    return _judge_forms(observation, seed, "trainer")


def _judge_forms(observation: Observation, seed: int, form: str) -> Verdict:
    cases, furthest = adafactor_forms_cases(seed), 0.0
    misused = judge_usage(cases, observation, form)
    if misused:
        return misused
    for index, case in enumerate(cases):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = judge_batches(case, facts, observation.facts["calls"][index], form) or _judge_held(facts["options"])
        verdict = verdict or judge_gradients(facts, tensors, make_loop_reference(case))
        distance = furthest if verdict else distance_of(case, tensors)
        if not verdict and not distance <= TOLERANCE:
            verdict = _explain(case, facts["options"], distance)
        if verdict:
            return in_batches(name_form(verdict, form, LOOK_AT))
        furthest = max(furthest, distance)
    updates = sum(case.updates for case in cases)
    measured = f"{updates} updates with Adafactor, at most {furthest:.1e} of the movement from the raw loop"
    return Verdict(PASSED, "the weights of the raw loop", measured)


def _judge_held(updates: Sequence[Mapping[str, Any]]) -> Verdict | None:
    left_out = max((int(update["left_out"]) for update in updates), default=0)
    if not left_out:
        return None
    look_at = "You leave parameters out of the optimizer. Pass it model.parameters(), which are all of them."
    return Verdict("parameters_left_out", "an optimizer of all parameters", f"{left_out} of them in no group", look_at)


def distance_of(case: DecayFormsCase, tensors: Mapping[str, Tensor]) -> float:
    """Return how far the weights are from those that Adafactor leads to from the gradients that were seen."""
    model = case.make_model()
    start = [parameter.detach().double() for parameter in model.parameters()]
    wanted, states = list(start), [dict[str, Any]() for _ in start]
    for update in range(case.updates):
        for index, gradient in enumerate(split_by_parameters(tensors[f"gradient.{update}"].double(), model)):
            step = gradient / factored_second_moment(gradient, states[index], DECAY_RATE, EPS).sqrt()
            step = step / root_mean_square(step).clamp(min=1.0)
            wanted[index] = wanted[index] - case.learning_rate * step
    first, last = (nn.utils.parameters_to_vector(weights) for weights in (start, wanted))
    return measure_miss(tensors, case.updates, first, last)


def _explain(case: DecayFormsCase, updates: Sequence[Mapping[str, Any]], distance: float) -> Verdict:
    expected = f"Adafactor of transformers, without relative step and scale, lr {case.learning_rate:g}"
    if not updates:
        return Verdict("no_update", expected, "no update", "You make no update. Look at what calls step().")
    for code, is_so, said, look_at in _causes(case, updates):
        if is_so:
            return Verdict(code, expected, said, look_at)
    measured = f"{updates[0]['optimizer']}, {distance:.2g} of the movement away"
    return Verdict(
        UNRECOGNISED,
        expected,
        measured,
        "Your steps differ, but not in a common way. Go through the options of the optimizer, one after the other.",
    )


def _causes(case: DecayFormsCase, updates: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, bool, str, str]]:
    first = updates[0]
    name, rates = str(first["optimizer"]), [update.get("lr") for update in updates]
    is_own = name == "transformers.Adafactor"
    look_at = (
        "You train with torch's Adafactor, which scales by the weight and has no option for it. "
        "Import Adafactor from transformers, as the Trainer does."
    )
    yield "torch_adafactor", name == "torch.Adafactor", name, look_at
    yield "adamw_left_in", name.endswith("AdamW"), name, "You train with AdamW. Make an Adafactor."
    yield (
        "another_optimizer",
        not is_own,
        name,
        "You train with another optimizer. Look at which one moves the weights.",
    )
    both = bool(first.get("relative_step")) and bool(first.get("scale_parameter"))
    look_at = (
        "You keep the defaults of transformers, so both options are on. Set relative_step and scale_parameter to False."
    )
    yield "defaults_left_on", both, "relative_step=True, scale_parameter=True", look_at
    look_at = "You leave relative_step on, so the step sets the rate. Set it to False and pass lr."
    yield "relative_step_on", bool(first.get("relative_step")), "relative_step=True", look_at
    look_at = "You leave scale_parameter on, so the weight scales the rate. Set it to False, as the Trainer does."
    yield "scale_parameter_on", bool(first.get("scale_parameter")), "scale_parameter=True", look_at
    look_at = "You set beta1, which keeps a mean of updates. Momentum is not asked for."
    yield "momentum_set", first.get("beta1") is not None, f"beta1={first.get('beta1')}", look_at
    said = f"weight_decay={first.get('weight_decay')}"
    yield (
        "decay_set",
        bool(first.get("weight_decay")),
        said,
        "You set weight_decay. Leave it at 0: nothing decays here.",
    )
    for option, default in (("clip_threshold", 1.0), ("decay_rate", DECAY_RATE)):
        value = first.get(option)
        yield "option_changed", value != default, f"{option}={value}", f"You change {option}. Leave it at its default."
    said = f"a learning rate of {rates[0]}"
    visible = {other.learning_rate for other in adafactor_forms_cases(0)} - {case.learning_rate}
    look_at = "You use a learning rate that is right for another run. Read the argument lr."
    yield "visible_case_hard_coded", rates[0] in visible, said, look_at
    look_at_schedule = "You let the learning rate warm up. Look at lr_scheduler_type and warmup_steps."
    warms_up = rates[0] == 0 or (rates[-1] == case.learning_rate and len(set(rates)) > 1)
    yield "warm_up_set", warms_up, f"learning rates from {rates[0]} to {rates[-1]}", look_at_schedule
    look_at = "You train with 5e-5, the default of TrainingArguments. Pass lr as learning_rate."
    yield "default_learning_rate", rates[0] == DEFAULT_RATE, said, look_at
    yield (
        "other_learning_rate",
        rates[0] != case.learning_rate,
        said,
        "You train with another learning rate. Look at which one the optimizer receives.",
    )
    said = f"learning rates from {rates[0]} to {rates[-1]}"
    yield (
        "learning_rate_changed",
        len(set(rates)) > 1,
        said,
        "You change the learning rate during the run. Look for a schedule.",
    )
