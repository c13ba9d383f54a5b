"""Judges the Accelerate and the Trainer form: used as taught, and equal to the raw loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial

from torch import Tensor

from grader.judging.forms import TRAINER_DEFAULTS, Facts, count, judge_models, name_form
from grader.judging.group_gradient import mixture
from grader.judging.updates import Reference, judge_updates, praise
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.gradient_accumulation.forms import FormsCase, forms_cases
from grader.lessons.gradient_accumulation.loops import LEARNING_RATE
from grader.observation import Observation
from grader.verdict import Verdict

# What a learner looks at where a form hides who does what.
LOOK_AT = TRAINER_DEFAULTS | {
    "accelerate_gradient_not_averaged": "You call loss.backward(), which does not divide by k. "
    "Call accelerator.backward(loss).",
    "accelerate_short_group_divided_by_k": "You let accelerator.backward divide by k in the short last group, too. "
    "Correct the loss of that group.",
    "accelerate_gradient_divided_twice": "You divide the loss yourself, and accelerator.backward divides by k again.",
    "accelerate_update_every_micro_batch": "You update after every micro-batch. "
    "Only a prepared optimizer waits for its group: pass it to accelerator.prepare.",
    "accelerate_last_group_lost": "You leave out the last group. "
    "A prepared loader shows accumulate where the epoch ends: pass it to accelerator.prepare.",
    "accelerate_cleared_within_group": "You clear the gradients after every micro-batch. "
    "Call zero_grad() of the prepared optimizer, which waits for the end of a group.",
    "accelerate_last_group_updates_each_time": "You read ahead, so accumulate learns too early that the epoch "
    "has ended. Read one micro-batch at a time.",
    "trainer_gradient_not_averaged": "You leave the gradients undivided. "
    "Set accepts_loss_kwargs = False on this model, before Trainer(...).",
    "trainer_gradient_divided_twice": "You divide the loss, and the Trainer divides again where accepts_loss_kwargs is "
    "False.",
    "trainer_short_group_divided_by_k": "You divide by k in the short last group, too. "
    "The Trainer does not divide a loss of your own again: divide by the size of the group.",
}


def judge_accelerate_form(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form: used as taught, and equal to the raw loop."""
    for case, facts, calls in _settings(observation, seed):
        verdict = _judge_accumulate(case, calls) or judge_models(case.micro_batches, facts, calls, is_in_trainer=False)
        if verdict:
            return verdict
    return _judge_forms(observation, seed, "accelerate")


def judge_trainer_form(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form: used as taught, and equal to the raw loop."""
    for case, facts, calls in _settings(observation, seed):
        verdict = _judge_trainer(case, calls) or judge_models(case.micro_batches, facts, calls, is_in_trainer=True)
        if verdict:
            return verdict
    return _judge_forms(observation, seed, "trainer")


def _settings(observation: Observation, seed: int) -> Iterator[tuple[FormsCase, Facts, Facts]]:
    return zip(forms_cases(seed), observation.facts["settings"], observation.facts["calls"], strict=True)


def _judge_accumulate(case: FormsCase, calls: Facts) -> Verdict | None:
    steps = calls["accumulate"]
    expected = f"{case.micro_batches} micro-batches inside accelerator.accumulate, with {case.k} accumulation steps"
    if not steps:
        look_at = "You never enter accelerator.accumulate(model). Put the body of your loop inside it."
        return Verdict("accumulate_not_used", expected, "accelerator.accumulate was not entered", look_at)
    if steps[0] == case.k:
        return None
    code = "accelerator_without_steps" if steps[0] == 1 else "accelerator_with_other_steps"
    return Verdict(
        code,
        expected,
        count(steps[0], "accumulation step"),
        "You make the Accelerator with another number of steps. Set gradient_accumulation_steps=k.",
    )


def _judge_trainer(case: FormsCase, calls: Facts) -> Verdict | None:
    steps = calls["trainer"]
    expected = f"one Trainer.train with {case.k} accumulation steps"
    if not steps:
        return Verdict(
            "trainer_not_used",
            expected,
            "Trainer.train was not called",
            "You make a Trainer and never train. Call its .train().",
        )
    if steps[0] == case.k:
        return None
    code = "trainer_without_steps" if steps[0] == 1 else "trainer_with_other_steps"
    measured, look_at = (
        count(steps[0], "accumulation step"),
        "You train with another number of accumulation steps. Set it in TrainingArguments.",
    )
    return Verdict(code, expected, measured, look_at)


def _judge_forms(observation: Observation, seed: int, form: str) -> Verdict:
    cases = forms_cases(seed)
    references = [_make_reference(case) for case in cases]
    for index, reference in enumerate(references):
        tensors = tensors_of(observation, index)
        verdict = judge_updates(observation.facts["settings"][index], tensors, reference)
        if verdict:
            if verdict.code == "other_gradient" and _holds_other_rows(tensors, cases[index]):
                verdict = replace(verdict, code="rows_in_another_order", measured="the gradient of other rows")
            return name_form(verdict, form, LOOK_AT)
    return praise(references)


def _holds_other_rows(tensors: Mapping[str, Tensor], case: FormsCase) -> bool:
    """Return whether the first update is made of other rows of the data, each whole and with the same weight."""
    rows = _make_reference(replace(case, rows=1))
    weights = mixture(tensors["gradient.0"], [rows.gradient(tensors["weights.0"], i) for i in range(case.pairs)])
    if weights is None:
        return False
    largest = max(weights)
    shares = [round(weight / largest, 2) for weight in weights]
    return set(shares) <= {0.0, 1.0} and sum(shares) == case.k * case.rows


@lru_cache(maxsize=8)
def _make_reference(case: FormsCase) -> Reference:
    model, dataset = case.make_model(), case.make_dataset()
    starts = range(0, case.pairs, case.rows)
    micro_batches = [dataset[start : start + case.rows] for start in starts]

    def loss(number: int) -> Tensor:
        mean: Tensor = model(**micro_batches[number]).loss
        return mean

    return Reference(case.micro_batches, case.k, case.rows, LEARNING_RATE, partial(gradient_at, model, loss))
