"""Verdict on the step of 8-bit Adam: the right weights after every step, from a state of codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from grader.judging.lessons.adam_8bit.step_mistakes import recipes
from grader.judging.lessons.adam_8bit.step_recipes import RIGHT, StepRecipe, simulate, walk
from grader.judging.lessons.adam_8bit.step_state import judge_formats, judge_kept, judge_left_alone
from grader.judging.step_paths import find_miss, find_recipe, is_near, say_movement
from grader.lessons.adam_8bit.updates import EIGHT_BIT_STEPS, EightBitCase, eight_bit_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
# A number between two codes may be rounded to either of them. Right steps in another arithmetic differ by up to 4e-5 of
# the way, the smallest mistake by 2.4e-3.
TOLERANCE = 5e-4
FIXED_RATES = (1e-2, 4e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 0.1)  # that somebody may write down


@dataclass(frozen=True)
class Run:
    """What a case did, beside what is right.

    Attributes:
        case: The case.
        seen: Of each tensor, its values after each step, [steps, numbers].
        wanted: The same of right steps.
    """

    case: EightBitCase
    seen: Sequence[Tensor]
    wanted: Sequence[Tensor]

    def start(self, index: int) -> Tensor:
        """Return a tensor before the first step, in one vector."""
        return self.case.make_weights()[index].flatten()

    def miss(self) -> tuple[int, int] | None:
        """Return the first step, counted from 1, and the tensor that is not as it should be."""
        return find_miss(self.seen, self.wanted, self.start, TOLERANCE)

    def explained_by(self, recipe: StepRecipe) -> bool:
        """Tell whether a recipe takes the steps that were seen, in every tensor; a wrong one first."""
        miss = self.miss()
        order = sorted(range(len(self.seen)), key=lambda index: miss is None or index != miss[1])
        for index in order:
            pairs = zip(self.seen[index], walk(self.case, index, recipe), strict=True)
            if not all(is_near(row, other, self.start(index), TOLERANCE) for row, other in pairs):
                return False
        return True


def judge_eight_bit_steps(observation: Observation, seed: int) -> Verdict:
    """Judge gradients and options left alone, then weights, then the formats of the state."""
    cases, settings = eight_bit_cases(seed), observation.facts["settings"]
    verdict = judge_left_alone(settings)
    if verdict:
        return verdict
    wanted = right_steps(seed)
    runs = [read(case, number, observation.tensors, wanted[number]) for number, case in enumerate(cases)]
    for number, run in enumerate(runs):
        verdict = _judge_weights(runs, number, run.miss(), settings)
        if verdict:
            return verdict
    for case, facts in zip(cases, settings, strict=True):
        verdict = judge_formats(case, facts["formats"]) or judge_kept(int(facts["kept_numbers"]))
        if verdict:
            return verdict
    tensors = sum(len(case.shapes) for case in cases)
    measured = f"{tensors} tensors for {EIGHT_BIT_STEPS} steps; {_codes(settings):,} codes in the state"
    return Verdict(PASSED, "the steps of 8-bit AdamW", measured)


@lru_cache(maxsize=4)
def right_steps(seed: int) -> tuple[tuple[Tensor, ...], ...]:
    """Return each tensor of each case after each right step, [steps, numbers]."""
    cases = eight_bit_cases(seed)
    return tuple(tuple(simulate(case, index, RIGHT) for index in range(len(case.shapes))) for case in cases)


def read(case: EightBitCase, number: int, tensors: Mapping[str, Tensor], wanted: Sequence[Tensor]) -> Run:
    """Read what was seen of a case, beside right steps."""
    indices = range(len(case.shapes))
    seen = [tensors[f"{number}.{index}"] for index in indices]
    return Run(case, seen, wanted)


def _codes(settings: Sequence[Mapping[str, Sequence[Mapping[str, int]]]]) -> int:
    return sum(formats.get("uint8", 0) for facts in settings for formats in facts["formats"])


def _judge_weights(
    runs: Sequence[Run], number: int, miss: tuple[int, int] | None, settings: Sequence[Mapping[str, Any]]
) -> Verdict | None:
    if miss is None:
        return None
    run, (step, index) = runs[number], miss
    kind = "codes" if run.case.is_quantized(index) else "float32 moments"
    expected = f"after step {step}, the weights of 8-bit AdamW ({run.case.describe(index)}; {kind})"
    measured = say_movement(run.seen[index][step - 1], run.wanted[index][step - 1], run.start(index))
    if all(torch.equal(row, run.start(i)) for i, seen in enumerate(run.seen) for row in seen):
        look_at = "the weight is changed in place: which line of yours does it?"
        return Verdict("weight_not_changed", expected, "weights that never move", look_at)
    found = _never_moved(run)
    if not found and (mistake := find_recipe(runs, number, recipes())):
        found = mistake.code, mistake.look_at
    code, look_at = found or _hard_coded(runs) or _scaled(run) or _family(run, step, index)
    return Verdict(code, expected, measured, look_at)


def _never_moved(run: Run) -> tuple[str, str] | None:
    """Tell which tensors a loop misses, where those that it reaches are right or some never move."""
    still = {index for index, seen in enumerate(run.seen) if all(torch.equal(row, run.start(index)) for row in seen)}
    still -= {index for index, wanted in enumerate(run.wanted) if torch.equal(wanted[-1], run.start(index))}
    if not still:
        return None
    if still == {index for index, group in enumerate(run.case.groups) if group > 0}:
        return "later_groups_left_out", "the groups behind the first one, which never move: do you go through all?"
    return "tensor_left_out", "tensors that never move: which of your loops misses them, or ends before them?"


def _hard_coded(runs: Sequence[Run]) -> tuple[str, str] | None:
    """Find out whether the options are those of the cases that a learner has seen."""
    for run, visible in zip(runs, eight_bit_cases(VISIBLE_SEED), strict=True):
        recipe = StepRecipe(fixed_betas=visible.betas, fixed_eps=visible.eps)
        if run.miss() and run.explained_by(recipe):
            return "visible_case_hard_coded", "options that are right for other tensors: where are they read?"
    for rate in FIXED_RATES:
        if all(run.explained_by(StepRecipe(fixed_rate=rate)) for run in runs):
            return "learning_rate_not_read", f"the learning rate: yours is {rate:g} for every group, whatever its lr is"
    return None


def _scaled(run: Run) -> tuple[str, str] | None:
    """Find out whether the steps are those of a gradient times a constant."""
    for factor in (0.25, 0.5, 2.0, 4.0, 0.1, 10.0, 1 / 256, 256.0):
        if run.explained_by(StepRecipe(gradient=factor)):
            return "gradient_scaled", f"a factor of {factor:.4g} on the gradient: Adam hides it but for epsilon"
    return None


def _family(run: Run, step: int, index: int) -> tuple[str, str]:
    """Tell families of mistakes that no recipe explains."""
    wrong = {
        place
        for place, (seen, wanted) in enumerate(zip(run.seen, run.wanted, strict=True))
        if not all(is_near(row, other, run.start(place), TOLERANCE) for row, other in zip(seen, wanted, strict=True))
    }
    quantized = {place for place in range(len(run.seen)) if run.case.is_quantized(place)}
    if step > 1 and wrong <= quantized:
        return (
            "codes_wrong",
            "large tensors, from the second step on: what is encoded, with which book, and decoded again?",
        )
    if wrong and not wrong & quantized:
        return "small_tensors_wrong", "tensors of fewer than 4,096 numbers: their moments stay as they are, in float32"
    if step > 2:
        return "wrong_from_a_later_step", f"step {step}, as those before are right: what depends on the step there?"
    if step > 1:
        return "right_at_the_first_step_only", "the second step: what does the state hold, and how is it read?"
    return UNRECOGNISED, "the first step of one tensor, where both moments are zero before it"
