"""Judges fused attention under Accelerate and under the Trainer: used, equal to the raw loop, and with its peak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from torch import Tensor

from grader.judging.form_peaks import judge_form_peak
from grader.judging.forms import TRAINER_DEFAULTS, count, judge_own_form, name_form
from grader.judging.misconceptions import Misconception, Table
from grader.judging.updates import Reference, judge_updates
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.attention.forms import LEARNING_RATE, FormsCase, forms_cases, long_rows_case
from grader.observation import Observation
from grader.verdict import Verdict

SHARE = 0.6  # four layers whose scores are most of what an update holds

LOOK_AT = TRAINER_DEFAULTS | {
    "trainer_other_gradient": "Your gradients are not those of the raw loop. Look at the arguments that differ from "
    "same_run, such as train_sampling_strategy: by default the Trainer draws the rows at random.",
    "accelerate_micro_batches_not_seen_once": "You leave out rows, or train on some twice. Look at drop_last of the "
    "loader, and at where your loop ends.",
    "accelerate_other_gradient": "Your gradients are not those of the raw loop, which takes the rows in their order. "
    "Look at shuffle of the loader, and at whether the attention mask reaches the model.",
    "accelerate_no_update": "You never update this model. Look at whose parameters the optimizer holds.",
}


@dataclass(frozen=True)
class Usage:
    """One epoch of a form.

    Attributes:
        case: The case.
        calls: What was called of the libraries.
        forward_rows: Rows of each forward of the model.
        fused_calls: Calls of the fused operator.
    """

    case: FormsCase
    calls: Mapping[str, Any]
    forward_rows: Sequence[int]
    fused_calls: int

    @property
    def forwards(self) -> int:
        """Forwards of the model."""
        return len(self.forward_rows)

    @property
    def largest_forward(self) -> int:
        """Rows of the largest forward."""
        return max(self.forward_rows, default=0)

    @property
    def seen(self) -> str:
        """The fused calls in words."""
        return f"{count(self.fused_calls, 'call')} in {count(self.forwards, 'forward')}"


def judge_attention_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the loop with Accelerate."""
    return _judge(observation, seed, "accelerate")


def judge_attention_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the run of the Trainer."""
    return _judge(observation, seed, "trainer")


def _judge(observation: Observation, seed: int, form: str) -> Verdict:
    cases, every = forms_cases(seed), observation.facts
    for case, facts, calls in zip(cases, every["settings"], every["calls"], strict=True):
        usage = Usage(case, calls, facts["forward_rows"], facts["fused_calls"])
        verdict = judge_own_form(facts, calls, is_in_trainer=form == "trainer")
        if verdict and form == "accelerate" and calls["backward"] and not usage.forwards:
            look_at = "You train another model than the one that arrives, which never runs. Train it, not a copy."
            return replace(verdict, code="accelerate_another_model", look_at=look_at)
        verdict = verdict or (
            ACCELERATE.judge(usage, "model and optimizer prepared, and used") if form[0] == "a" else None
        )
        verdict = verdict or _judge_fused(usage, form)
        if verdict:
            return verdict
    for index, case in enumerate(cases):
        verdict = judge_updates(every["settings"][index], tensors_of(observation, index), _make_reference(case))
        if verdict:
            usage = Usage(case, every["calls"][index], every["settings"][index]["forward_rows"], 0)
            return ROWS.judge(usage, verdict.expected, verdict.measured) or name_form(verdict, form, LOOK_AT)
    (claim,), long = every["claims"], long_rows_case(seed)
    code = f"{form}_tensors_kept"
    look_at = "You keep losses or outputs of earlier updates, or leave some layers with eager attention."
    if any(facts["math_calls"] for facts in every["settings"]):
        code = f"{form}_math_kernel"
        look_at = "You call SDPA, but PyTorch runs its math kernel, which keeps the matrix of weights. Look for "
        look_at += f"sdpa_kernel, and for dropout. (In the {form} form.)"
    peak = judge_form_peak(claim, long.make_model, long.make_batches, SHARE, code=code, look_at=look_at)
    updates = sum(case.updates for case in cases)
    right = f"{updates} updates with the gradient of the raw loop"
    return replace(peak, measured=f"{right}; peak {peak.measured}") if peak.is_passed else peak


def _judge_fused(usage: Usage, form: str) -> Verdict | None:
    if usage.fused_calls >= usage.forwards:  # more of them where a checkpoint runs a layer again
        return None
    expected = "one call of scaled_dot_product_attention in each forward: the model has one layer"
    look_at = "You train with eager attention. Look for the method of the model that sets its attention."
    if usage.fused_calls:
        look_at = "You run some forwards without SDPA. Set it once, before the first forward, and do not switch back."
        return Verdict(f"{form}_attention_set_late", expected, usage.seen, look_at)
    return Verdict(f"{form}_eager", expected, usage.seen, f"{look_at} (In the {form} form.)")


@lru_cache(maxsize=8)
def _make_reference(case: FormsCase) -> Reference:
    model, batches = case.make_model(), case.make_batches()

    def loss(number: int) -> Tensor:
        mean: Tensor = model(**batches[number]).loss
        return mean

    return Reference(case.updates, 1, case.rows, LEARNING_RATE, partial(gradient_at, model, loss))


ROWS = Table[Usage](
    Misconception(
        "gradients_accumulated",
        "You set gradient_accumulation_steps above 1, but each update has one forward of `rows` rows. Leave it at 1.",
        shown_by=lambda usage: max([*usage.calls["trainer"], *usage.calls["backward"]], default=1) > 1,
    ),
    Misconception(
        "fewer_rows_at_once",
        "You train on fewer rows at a time than asked for. Look at the batch size: each forward has `rows` rows.",
        shown_by=lambda usage: 0 < usage.largest_forward < usage.case.rows,
        measured="{largest_forward} of {case.rows} rows in the largest forward",
    ),
)
ACCELERATE = Table[Usage](
    Misconception(
        "model_not_prepared",
        "You do not give the model to accelerator.prepare. Look at its arguments.",
        shown_by=lambda usage: "model" not in usage.calls["prepared"],
        measured="no model prepared",
    ),
    Misconception(
        "optimizer_not_prepared",
        "You do not give the optimizer to accelerator.prepare. Look at its arguments.",
        shown_by=lambda usage: "optimizer" not in usage.calls["prepared"],
        measured="no optimizer prepared",
    ),
    Misconception(
        "accelerator_backward_not_used",
        "You never call accelerator.backward. Look at where your loop calls backward.",
        shown_by=lambda usage: not usage.calls["backward"],
        measured="no call of accelerator.backward",
    ),
    Misconception(
        "prepared_objects_dropped",
        "You do not use what accelerator.prepare returns. Look at which objects your loop takes.",
        shown_by=lambda usage: "optimizer" not in usage.calls["used"],
        measured="no step of the prepared optimizer",
    ),
)
