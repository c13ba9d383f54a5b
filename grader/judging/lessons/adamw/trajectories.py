"""Compares the steps of an optimizer with PyTorch's, and finds the misconception that takes the same steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from grader.judging.lessons.adamw.deviations import Deviation, recipes
from grader.judging.lessons.adamw.recipes import RUNNING_SHARES, Recipe, simulate
from grader.judging.step_paths import find_miss, find_recipe, is_near, say_movement
from grader.testbed.optimizer_steps import STEPS, UpdateCase
from grader.verdict import UNRECOGNISED, Verdict

# Two float32 runs of the same 20 steps differ by about 3e-6 of their movement; the smallest mistake by 1e-3.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Steps:
    """What a case did, beside what PyTorch does.

    Attributes:
        case: The case.
        seen: Of each tensor, its values after each step, [steps, numbers].
        wanted: The same of PyTorch.
    """

    case: UpdateCase
    seen: Sequence[Tensor]
    wanted: Sequence[Tensor]

    def start(self, index: int) -> Tensor:
        """Return a tensor before the first step, in one vector."""
        return self.case.make_weights()[index].flatten()

    def miss(self) -> tuple[int, int] | None:
        """Return the first step, counted from 1, and the tensor that is not as it should be."""
        return find_miss(self.seen, self.wanted, self.start, TOLERANCE)

    def explained_by(self, recipe: Recipe) -> bool:
        """Tell whether a recipe takes the steps that were seen, in every tensor."""
        for index, seen in enumerate(self.seen):
            start = self.start(index)
            for row, weight in zip(seen, simulate(self.case, index, recipe), strict=True):
                if not is_near(row, weight.flatten(), start, TOLERANCE):
                    return False
        return True


def steps_of_torch(case: UpdateCase) -> list[Tensor]:
    """Take the steps of a case with `torch.optim.AdamW`; without decay they are Adam's."""
    parameters = [nn.Parameter(weight) for weight in case.make_weights()]
    groups = [
        {"params": [parameters[index] for index in case.members(group)], **case.options(group, 1)}
        for group in range(len(case.decays))
    ]
    optimizer = torch.optim.AdamW(groups, foreach=False)
    rows: list[list[Tensor]] = [[] for _ in parameters]
    for step in range(1, STEPS + 1):
        for number, group in enumerate(optimizer.param_groups):
            group.update(case.options(number, step))
        for parameter, gradient in zip(parameters, case.gradients(step), strict=True):
            parameter.grad = gradient
        optimizer.step()
        for row, parameter in zip(rows, parameters, strict=True):
            row.append(parameter.detach().flatten().clone())
    return [torch.stack(row) for row in rows]


def read_steps(cases: Sequence[UpdateCase], tensors: Mapping[str, Tensor]) -> list[Steps]:
    """Read what was seen of every case, beside PyTorch's steps."""
    return [
        Steps(case, [tensors[f"{number}.{index}"] for index in range(len(case.shapes))], steps_of_torch(case))
        for number, case in enumerate(cases)
    ]


def judge_steps(
    runs: Sequence[Steps], visible: Sequence[UpdateCase], deviations: Sequence[Deviation], name: str
) -> Verdict | None:
    """Return the verdict on the first miss in any case, or None.

    Args:
        runs: What every case did.
        visible: The cases that a learner has seen.
        deviations: The misconceptions that may explain a miss.
        name: Of PyTorch's optimizer.
    """
    for number, run in enumerate(runs):
        miss = run.miss()
        if miss is None or run.explained_by(RUNNING_SHARES):  # as right, where a schedule changes the betas
            continue
        step, index = miss
        expected = f"after step {step}, the weights of {name} ({run.case.describe(index, step)})"
        measured = say_movement(run.seen[index][step - 1], run.wanted[index][step - 1], run.start(index))
        if all(torch.equal(row, run.start(i)) for i, seen in enumerate(run.seen) for row in seen):
            look_at = (
                "which line changes the weight itself (-=, sub_): `weight = ...` only gives a name to a new tensor"
            )
            return Verdict("weight_not_changed", expected, "weights that never move", look_at)
        found = find_recipe(runs, number, recipes(deviations)) or _hard_coded(run, visible[number]) or _scaled(run)
        return Verdict(
            *((found.code, expected, measured, found.look_at) if found else _unknown(expected, measured, step))
        )
    return None


def _unknown(expected: str, measured: str, step: int) -> tuple[str, str, str, str]:
    if step == 1:
        look_at = "the update, line by line, at step 1, where both moments are still zero"
    else:
        look_at = f"what step {step} is first to show: what was kept, what was counted, and which options changed"
    return UNRECOGNISED, expected, measured, look_at


def _hard_coded(run: Steps, visible: UpdateCase) -> Deviation | None:
    """Find out whether the options are those of the case that a learner has seen."""
    recipe = Recipe(fixed_betas=visible.betas, fixed_eps=visible.eps, fixed_decays=visible.decays)
    if not run.explained_by(recipe):
        return None
    return Deviation("visible_case_hard_coded", {}, "options that are right for other tensors: where are they read?")


def _scaled(run: Steps) -> Deviation | None:
    """Find out whether the steps are those of a gradient, or of a learning rate, times a constant."""
    for factor in _first_step_factors(run):
        if not 0 < abs(factor) < math.inf:
            continue
        if run.explained_by(Recipe(gradient=factor)):
            look_at = f"a factor of {factor:.4g} on the gradient: Adam hides it but for epsilon"
            return Deviation("gradient_scaled", {}, look_at)
        if run.explained_by(Recipe(rate=factor)):
            return Deviation("learning_rate_scaled", {}, f"a factor of {factor:.4g} on the learning rate")
    return None


def _first_step_factors(run: Steps) -> Iterator[float]:
    """Yield factors of the gradient, and of the learning rate, that the first step would show."""
    for index, seen in enumerate(run.seen):
        gradient = run.case.gradients(1)[index]
        if gradient is None:
            continue
        options = run.case.options(run.case.groups[index], 1)
        rate, eps = options["lr"], options["eps"]
        kept = run.start(index) * (1 - rate * options["weight_decay"])
        share = ((kept - seen[0]).double() / rate).abs()  # c |g| / (c |g| + eps) for a gradient times c
        size = gradient.flatten().double().abs()
        yield float((share * (size + eps) / size).nanmedian())
        yield float((share * eps / (size * (1 - share))).nanmedian())
