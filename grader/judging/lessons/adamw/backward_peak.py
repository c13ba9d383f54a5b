"""Judges the peak of an update inside the backward pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.judging.kept import keep_cases
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.adamw.backward import BackwardPeakCase, backward_peak_case
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import Verdict

SHARE = 0.92  # the solution reaches 86 to 87 %; with gradients that wait it is 100 %


@dataclass(frozen=True)
class Update:
    """An update inside the backward pass.

    Attributes:
        facts: What was recorded.
        state_bytes: Held when the measured call began, in addition to model and inputs.
        moment_bytes: Of the two moments of all parameters.
    """

    facts: Mapping[str, Any]
    state_bytes: int
    moment_bytes: int

    @property
    def sizes(self) -> str:
        """The bytes, in words."""
        held = format_bytes(max(self.state_bytes, 0))
        return f"{held} of state, where two moments take {format_bytes(self.moment_bytes)}"


BY_ADAMW = "every parameter updated by AdamW during the backward pass"
STATE = Table[Update](
    Misconception(
        "peak_without_steps",
        "You update no weight during the backward pass. Register a hook on each parameter that calls step().",
        shown_by=lambda update: not update.facts["steps_inside"],
        measured="no step during a backward pass",
    ),
    Misconception(
        "peak_of_another_optimizer",
        "You measure the peak of an optimizer of your own. Update with those that make_optimizer makes.",
        shown_by=lambda update: update.facts["steps_of_others"] > 0,
        measured="{facts[steps_of_others]} steps of others",
    ),
    Misconception(
        "peak_without_state",
        "You do not update every parameter with AdamW: its two moments are missing. Look at which parameters are "
        "updated, and by which optimizer.",
        shown_by=lambda update: update.state_bytes < update.moment_bytes,
        measured="{sizes}",
    ),
)
PEAK = Table[Update](
    Misconception(
        "peak_with_gradients",
        "You hold {facts[gradients_alive]} gradients at once. Free each of them in its own hook.",
        shown_by=lambda update: update.facts["gradients_alive"] > 1,
    ),
    Misconception(
        "peak_with_other_tensors",
        "You hold other tensors in addition to one gradient. Look at what your hooks keep: copies of weights, lists.",
        shown_by=lambda update: True,
    ),
)


def judge_adam_backward_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak against backward, step and zero_grad one after the other."""
    case = backward_peak_case(seed)
    (claim,) = observation.facts["claims"]
    model_bytes, input_bytes = _needed_bytes(case)
    peak_bytes = claimed_peak_bytes(claim, model_bytes + input_bytes)
    at_entry = claim["peak_bytes"] - claim["above_entry_bytes"]
    update = Update(observation.facts, at_entry - model_bytes - input_bytes, 2 * model_bytes)
    verdict = STATE.judge(update, BY_ADAMW)
    if verdict:
        return verdict
    baseline = _baseline(case, "cpu" if claim["device"] == "cpu" else "cuda")
    verdict = judge_budget(peak_bytes, baseline, SHARE, code="", look_at="")
    return (
        verdict
        if verdict.is_passed
        else PEAK.explain(update, expected=verdict.expected, measured=verdict.measured, otherwise="")
    )


@keep_cases
def _needed_bytes(case: BackwardPeakCase) -> tuple[int, int]:
    """Return the bytes of the model and of its inputs."""
    return distinct_storage_bytes(case.make_model().parameters()), case.make_inputs().nbytes


@keep_cases
def _baseline(case: BackwardPeakCase, operators: str) -> PeakMemory:
    """Forecast the plain update."""

    def prepare() -> dict[str, object]:
        model, inputs = case.make_model(), case.make_inputs()
        optimizer = case.make_optimizer(model.parameters())

        def step() -> None:
            loss = model(inputs).square().mean()
            torch.autograd.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}

    return forecast_peak_memory(prepare, operators=operators)
