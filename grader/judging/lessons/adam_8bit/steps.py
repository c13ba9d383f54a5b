"""Judges the step of 8-bit Adam: the right weights after every step, from a state of codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from grader.judging.edited_source import Part
from grader.judging.lessons.adam_8bit.step_misconceptions import (
    MISCONCEPTIONS,
    adamw_update,
    eight_bit_step,
    keep,
    read,
)
from grader.judging.lessons.adam_8bit.step_state import judge_left_alone, judge_state
from grader.judging.misconceptions import Misconception
from grader.judging.references import VISIBLE_SEED, Answer, ReferenceTable
from grader.judging.step_paths import say_movement
from grader.judging.trajectories import Trajectory, find_miss, follows_within, never_move, take_steps
from grader.lessons.adam_8bit.updates import EIGHT_BIT_STEPS, EightBitCase, eight_bit_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

# A number between two codes may be rounded to either of them. Right steps in another arithmetic differ by up to 4e-5 of
# the way, the smallest misconception by 2.4e-3.
TOLERANCE = 5e-4


def judge_eight_bit_steps(observation: Observation, seed: int) -> Verdict:
    """Judge that gradients and options are left alone, then the weights, then the number formats of the state."""
    cases, settings = eight_bit_cases(seed), observation.facts["settings"]
    verdict = judge_left_alone(settings)
    verdict = verdict or _judge_weights(TABLE.answer(seed, _read(cases, observation.tensors)))
    verdict = verdict or judge_state(cases, settings)
    if verdict:
        return verdict
    tensors = sum(len(case.shapes) for case in cases)
    codes = sum(formats.get("uint8", 0) for facts in settings for formats in facts["formats"])
    measured = f"{tensors} tensors for {EIGHT_BIT_STEPS} steps; {codes:,} codes in the state"
    return Verdict(PASSED, "the steps of 8-bit AdamW", measured)


def _read(cases: Sequence[EightBitCase], tensors: Mapping[str, Tensor]) -> list[Trajectory]:
    """Return the weights before the first step, and the recorded ones after each."""
    return [
        [
            torch.cat([start.flatten()[None], tensors[f"{number}.{index}"]])
            for index, start in enumerate(case.make_weights())
        ]
        for number, case in enumerate(cases)
    ]


def _judge_weights(answer: Answer) -> Verdict | None:
    if answer.is_right:
        return None
    part = answer.only(answer.wrong[0])
    case, seen, wanted = part.case, part.value, part.truth
    step, index = find_miss(seen, wanted, TOLERANCE) or (0, 0)
    otherwise = f"Your steps before step {step} are right. Look at what the state holds by then, and how it is read."
    if step == 1:
        otherwise = "Your first step is wrong already. Compute it by hand for one number: both moments begin at zero."
    kind = "codes" if case.is_quantized(index) else "float32 moments"
    return TABLE.explain(
        answer,
        part,
        expected=f"after step {step}, the weights of 8-bit AdamW ({case.describe(index)}; {kind})",
        measured=say_movement(seen[index][step], wanted[index][step], wanted[index][0]),
        otherwise=otherwise,
    )


def _run(step: Part, case: EightBitCase) -> Trajectory:
    return take_steps(step, case, EIGHT_BIT_STEPS, torch.float32)


def _with_visible_options(seed: int) -> list[EightBitCase]:
    """Return the cases with the betas and the epsilon of those that a notebook shows."""
    pairs = zip(eight_bit_cases(seed), eight_bit_cases(VISIBLE_SEED), strict=True)
    return [replace(case, betas=shown.betas, eps=shown.eps) for case, shown in pairs]


def _wrong_tensors(answer: Answer) -> set[bool]:
    """Return whether tensors that differ in the first wrong case are large ones: both, if some are and some are not."""
    part = answer.only(answer.wrong[0])
    pairs = enumerate(zip(part.value, part.truth, strict=True))
    return {part.case.is_quantized(index) for index, (seen, wanted) in pairs if find_miss([seen], [wanted], TOLERANCE)}


def _still_tensors(answer: Answer) -> bool:
    """Return whether some tensors of the first wrong case never move, though they have gradients."""
    part = answer.only(answer.wrong[0])
    pairs = zip(part.value, part.truth, strict=True)
    return any(never_move([seen]) and not never_move([wanted]) for seen, wanted in pairs)


def _starts_right(answer: Answer) -> bool:
    part = answer.only(answer.wrong[0])
    return (find_miss(part.value, part.truth, TOLERANCE) or (0, 0))[0] > 1


TABLE = ReferenceTable(
    (eight_bit_step, adamw_update, keep, read),
    Misconception(
        "weight_not_changed",
        "You leave every weight as it was. Change the weight in place; a copy that is updated is lost.",
        shown_by=lambda answer: all(never_move(answer.values[index]) for index in answer.indices),
        measured="weights that never move",
    ),
    *MISCONCEPTIONS,
    Misconception(
        "visible_case_hard_coded",
        "You use betas and epsilon that are right for the tensors of the notebook, and wrong for others. Read them "
        "from the group.",
        on=_with_visible_options,
    ),
    Misconception(
        "tensor_left_out",
        "You never move some of the tensors. Look at which of your loops misses them, or ends before them.",
        shown_by=_still_tensors,
    ),
    Misconception(
        "codes_wrong",
        "You spoil the moments of large tensors between two steps. Look at what is encoded, with which book, and "
        "decoded.",
        shown_by=lambda answer: _starts_right(answer) and _wrong_tensors(answer) == {True},
    ),
    Misconception(
        "small_tensors_wrong",
        "You treat tensors of fewer than 4,096 numbers wrongly. Their moments stay as they are, in float32.",
        shown_by=lambda answer: _wrong_tensors(answer) == {False},
    ),
    run=_run,
    cases=eight_bit_cases,
    is_near=follows_within(TOLERANCE),
)
