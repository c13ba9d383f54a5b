"""Judges the Accelerate and the Trainer form: used as taught, and equal to the raw loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from grader.judging.form_peaks import judge_form_peak
from grader.judging.forms import TRAINER_DEFAULTS, Facts, count, judge_own_form, name_form
from grader.judging.group_gradient import mixture
from grader.judging.kept import keep_cases
from grader.judging.updates import Reference, judge_updates, praise
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.gradient_accumulation.forms import FormsCase, form_peak_case, forms_cases
from grader.observation import Observation
from grader.verdict import Verdict

SHARE = 0.4  # four micro-batches hold a quarter of the activations: 0.27 is measured in each form
OWNERS = {"accelerate": "the Accelerator", "trainer": "TrainingArguments"}

# What a learner looks at where a form hides who does what.
LOOK_AT = TRAINER_DEFAULTS | {
    "accelerate_gradient_not_averaged": "Nothing divides your gradients. accelerator.backward divides by k, "
    "loss.backward() does not, and a factor of k undoes it.",
    "accelerate_short_group_divided_by_k": "You let accelerator.backward divide by k in the short last group, too. "
    "Correct the loss of that group.",
    "accelerate_gradient_divided_twice": "You divide the loss yourself, and accelerator.backward divides by k again.",
    "accelerate_update_every_micro_batch": "You update after every micro-batch. "
    "Only a prepared optimizer waits for its group: pass it to accelerator.prepare.",
    "accelerate_last_group_lost": "You leave out the last group. "
    "A prepared loader shows accumulate where the epoch ends: pass it to accelerator.prepare, and leave "
    "sync_with_dataloader at True.",
    "accelerate_cleared_within_group": "You clear the gradients within a group. Call zero_grad() of the prepared "
    "optimizer, which acts in a group's last micro-batch only, and call it after step().",
    "accelerate_last_group_updates_each_time": "You read ahead, so accumulate learns too early that the epoch "
    "has ended. Read one micro-batch at a time.",
    "trainer_gradient_not_averaged": "You leave the gradients undivided. "
    "Set accepts_loss_kwargs = False on this model, before Trainer(...).",
    "trainer_gradient_divided_twice": "Your loss is a mean, and is divided twice. Look for divisions of your own, and "
    "by num_items_in_batch; the Trainer divides where accepts_loss_kwargs is False.",
    "trainer_last_group_lost": "You stop before the last group. Look at max_steps.",
    "trainer_short_group_divided_by_k": "You divide by k in the short last group, too. "
    "The Trainer does not divide a loss of your own again: divide by the size of the group.",
}


def judge_accumulation_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the loop with Accelerate: used as taught, equal to the raw loop, and with its peak."""
    return _judge_form(observation, seed, "accelerate", "accumulate")


def judge_accumulation_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the run of the Trainer: used as taught, equal to the raw loop, and with its peak."""
    return _judge_form(observation, seed, "trainer", "trainer")


def judge_repaired_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the same with models that do not divide their loss."""
    return _judge_form(observation, seed, "trainer", "trainer")


def _judge_form(observation: Observation, seed: int, form: str, entry: str) -> Verdict:
    cases = forms_cases(seed)
    for case, facts, calls in zip(cases, observation.facts["settings"], observation.facts["calls"], strict=True):
        verdict = judge_own_form(facts, calls, is_in_trainer=form == "trainer")
        verdict = verdict or _judge_steps(case, facts, calls[entry], form)
        if verdict:
            return verdict
    references = [_make_reference(case) for case in cases]
    for index, reference in enumerate(references):
        tensors = tensors_of(observation, index)
        verdict = judge_updates(observation.facts["settings"][index], tensors, reference)
        if verdict:
            if verdict.code == "other_gradient" and _holds_other_rows(tensors, cases[index]):
                verdict = replace(verdict, code="rows_in_another_order", measured="the gradient of other rows")
            return name_form(verdict, form, LOOK_AT)
    (claim,), large = observation.facts["claims"], form_peak_case(seed)
    look_at = "You keep losses, outputs or graphs of earlier micro-batches. Look for lists and sums of losses."
    peak = judge_form_peak(
        claim, large.make_model, large.make_whole_batches, SHARE, code=f"{form}_tensors_kept", look_at=look_at
    )
    return replace(peak, measured=f"{praise(references).measured}; peak {peak.measured}") if peak.is_passed else peak


def _judge_steps(case: FormsCase, facts: Facts, steps: Sequence[int], form: str) -> Verdict | None:
    """Find out whether the form accumulates, and over how many micro-batches."""
    rows = max(facts["forward_rows"], default=0)
    if rows >= min(case.k * case.rows, case.pairs) and set(steps) <= {1}:
        return Verdict(
            f"{form}_accumulation_off",
            f"forwards of {case.rows} rows, {case.k} of them for an update",
            f"a forward of {rows} rows, and no accumulation",
            "You pass all rows of an update at once. The weights agree, and no memory is saved. "
            "Take micro-batches of `rows` rows, and let the library accumulate k of them.",
        )
    if not steps:
        expected = f"{case.micro_batches} micro-batches inside accelerator.accumulate"
        look_at = "You never enter accelerator.accumulate(model). Put the body of your loop inside it."
        return Verdict("accumulate_not_used", expected, "accelerator.accumulate was not entered", look_at)
    if steps[0] == case.k:
        return None
    measured, expected = count(steps[0], "accumulation step"), count(case.k, "accumulation step")
    if steps[0] == 1:
        look_at = f"You give {OWNERS[form]} no number of accumulation steps. Set gradient_accumulation_steps to k."
        return Verdict(f"{form}_without_steps", expected, measured, look_at)
    look_at = f"You give {OWNERS[form]} another number of accumulation steps. Take the k of this call."
    return Verdict(f"{form}_with_other_steps", expected, measured, look_at)


def _holds_other_rows(tensors: Mapping[str, Tensor], case: FormsCase) -> bool:
    """Return whether the first update is made of other rows of the data, each whole and with the same weight."""
    rows = _make_reference(replace(case, rows=1))
    weights = mixture(tensors["gradient.0"], [rows.gradient(tensors["weights.0"], i) for i in range(case.pairs)])
    if weights is None:
        return False
    largest = max(weights)
    shares = [round(weight / largest, 2) for weight in weights]
    return set(shares) <= {0.0, 1.0} and sum(shares) == case.k * case.rows


@keep_cases
def _make_reference(case: FormsCase) -> Reference:
    model, dataset = case.make_model(), case.make_dataset()
    starts = range(0, case.pairs, case.rows)
    micro_batches = [dataset[start : start + case.rows] for start in starts]

    def loss(number: int) -> Tensor:
        mean: Tensor = model(**micro_batches[number]).loss
        return mean

    return Reference(case.micro_batches, case.k, case.rows, case.learning_rate, partial(gradient_at, model, loss))
