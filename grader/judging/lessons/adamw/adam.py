"""Verdicts on Adam and AdamW written by hand: PyTorch's steps, from a state of two moments and a count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grader.judging.lessons.adamw.deviations import MOMENTS, Deviation
from grader.judging.lessons.adamw.group_deviations import DECAY
from grader.judging.lessons.adamw.trajectories import judge_steps, read_steps
from grader.lessons.adamw.updates import adam_cases, adamw_cases
from grader.observation import Observation
from grader.testbed.optimizer_steps import STEPS, UpdateCase
from grader.verdict import PASSED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
FLOAT32_BYTES = 4
MOST_COUNTERS = 4  # a step count may be a tensor of one number, and there may be a few of them


def judge_adam_updates(observation: Observation, seed: int) -> Verdict:
    """Judge Adam's update of single tensors."""
    return _judge(observation, (adam_cases(seed), adam_cases(VISIBLE_SEED)), MOMENTS, "torch.optim.Adam")


def judge_adamw_steps(observation: Observation, seed: int) -> Verdict:
    """Judge AdamW's step over groups, with decay and with missing gradients."""
    cases = adamw_cases(seed), adamw_cases(VISIBLE_SEED)
    return _judge(observation, cases, (*MOMENTS, *DECAY), "torch.optim.AdamW")


def _judge(
    observation: Observation,
    both_cases: tuple[Sequence[UpdateCase], Sequence[UpdateCase]],
    deviations: Sequence[Deviation],
    name: str,
) -> Verdict:
    (cases, visible), settings = both_cases, observation.facts["settings"]
    for case, facts in zip(cases, settings, strict=True):
        verdict = _judge_gradients(case, facts)
        if verdict:
            return verdict
    verdict = judge_steps(read_steps(cases, observation.tensors), visible, deviations, name)
    if verdict:
        return verdict
    for case, facts in zip(cases, settings, strict=True):
        verdict = _judge_state(case, facts) or _judge_side_effects(facts)
        if verdict:
            return verdict
    tensors = sum(len(case.shapes) for case in cases)
    measured = f"{tensors} tensors that follow {name} for {STEPS} steps, each with a state of two moments"
    return Verdict(PASSED, f"the steps of {name}", measured)


def _judge_gradients(case: UpdateCase, facts: Mapping[str, Any]) -> Verdict | None:
    for index, is_changed in enumerate(facts["is_gradient_changed"]):
        if is_changed:
            look_at = "a line that writes into the gradient, such as gradient.add_(...): make a new tensor instead"
            expected = f"the gradient as it was ({case.describe(index)})"
            return Verdict("gradient_changed", expected, "another gradient after the step", look_at)
    return None


def _judge_state(case: UpdateCase, facts: Mapping[str, Any]) -> Verdict | None:
    for index, elements in enumerate(facts["state_elements"]):
        shape = case.shapes[index]
        numbers = 1
        for side in shape:
            numbers *= side
        is_updated = case.first_steps.get(index, 1) <= STEPS
        least, most = (2 * numbers, 2 * numbers + MOST_COUNTERS) if is_updated else (0, 0)
        kept = f"two moments of {numbers} numbers each, and a count" if is_updated else "no state: it has no gradient"
        measured = f"{elements} numbers in tensors of its state"
        if not is_updated and facts["state_entries"][index]:
            look_at = "when the state is made: a tensor that never has a gradient needs none"
            if elements:
                return Verdict("state_without_gradient", kept, measured, look_at)
            measured = f"{facts['state_entries'][index]} entries in its state"
            return Verdict("count_without_gradient", kept, measured, "which lines stand before the skip")
        if elements < least:
            look_at = "where the moments are kept: the state that your function is handed is what a checkpoint saves"
            return Verdict("moments_kept_elsewhere", kept, measured, look_at)
        if elements > most:
            look_at = "what the state keeps beside the two moments: the next step needs nothing else"
            return Verdict("state_too_large", kept, measured, look_at)
        verdict = _judge_format(numbers, facts["state_bytes"][index])
        if verdict and is_updated:
            return verdict
    return None


def _judge_format(numbers: int, state_bytes: int) -> Verdict | None:
    """Judge the bytes of a state of two float32 moments, beside counters of 8 bytes at most."""
    least, most = 2 * numbers * FLOAT32_BYTES, 2 * numbers * FLOAT32_BYTES + MOST_COUNTERS * 8
    if least <= state_bytes <= most:
        return None
    expected = f"two moments in the format of their parameter, {least} bytes, and a count"
    look_at = "the format of the moments: zeros_like(parameter) has the right one, and .double() or .half() another"
    return Verdict("moments_in_another_format", expected, f"{state_bytes} bytes of state", look_at)


def _judge_side_effects(facts: Mapping[str, Any]) -> Verdict | None:
    """Judge what a step changed that is not its own."""
    if facts["changed_options"]:
        names = ", ".join(map(str, facts["changed_options"]))
        look_at = "lines that write into a group: its options belong to the caller and to the schedule"
        return Verdict("options_changed", "groups with the options as they were", f"another {names}", look_at)
    if facts["is_gradient_gone"]:
        look_at = "a line that sets .grad: clearing is what zero_grad() is for, when the caller wants it"
        return Verdict("gradient_dropped", "gradients that stay after a step", "a .grad that is None", look_at)
    if facts["is_frozen"]:
        look_at = "a line that changes requires_grad: the next backward gives this parameter no gradient"
        return Verdict(
            "parameter_frozen", "parameters that are trained on", "requires_grad False after a step", look_at
        )
    return None
