"""Compares steps written by hand with Adafactor's, and finds the misconception that takes the same steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from grader.judging.lessons.adafactor.deviations import ESTIMATES, Deviation, pairs
from grader.judging.lessons.adafactor.recipes import RIGHT, Recipe
from grader.judging.lessons.adafactor.second_moments import Estimate
from grader.judging.lessons.adafactor.step_deviations import SECOND_EPSILONS, STEP
from grader.judging.lessons.adafactor.steps import SMALLEST_SCALE, Drawn, root_mean_square, simulate
from grader.judging.step_paths import find_miss, find_recipe, is_near, say_movement
from grader.lessons.adafactor.updates import AdafactorCase, adafactor_cases
from grader.verdict import UNRECOGNISED, Verdict

VISIBLE_SEED = 0
# Two float32 runs of the same 20 steps differ by about 3e-6 of their movement; the smallest mistake by 1e-3.
TOLERANCE = 1e-4
# Adafactor divides a factor of the gradient out, but for eps: which factor it was is found by trying.
FACTORS = (-1.0, 2.0, 0.5, 3.0, 4.0, 0.25, 8.0, 0.125, 16.0, 10.0, 0.1, 100.0, 0.01, 1000.0, 0.001, 65_536.0)


@dataclass(frozen=True)
class Run:
    """What a case did, beside what Adafactor does.

    Attributes:
        drawn: The case with its weights and gradients.
        seen: Of each tensor, its values after each step, [steps, numbers].
        wanted: The same of Adafactor, as transformers has it.
    """

    drawn: Drawn
    seen: Sequence[Tensor]
    wanted: Sequence[Tensor]

    @cached_property
    def suspect(self) -> int:
        """The tensor that is off first: most misconceptions are told from it alone."""
        missed = self.miss()
        return missed[1] if missed else 0

    def miss(self) -> tuple[int, int] | None:
        """Return the first step, counted from 1, and the tensor that is not as it should be."""
        return find_miss(self.seen, self.wanted, self.start, TOLERANCE)

    def start(self, index: int) -> Tensor:
        """Return a tensor before the first step, in one vector."""
        return self.drawn.weights[index].flatten()

    def explained_by(self, recipe: Recipe, drawn: Drawn | None = None) -> bool:
        """Tell whether a recipe takes the steps that were seen, in every tensor."""
        for index in sorted(range(len(self.seen)), key=lambda index: index != self.suspect):
            seen, start = self.seen[index], self.start(index)
            for row, weight in zip(seen, simulate(drawn or self.drawn, index, recipe), strict=True):
                if not is_near(row, weight.flatten(), start, TOLERANCE):
                    if not row.isfinite().all() and not weight.float().isfinite().all():
                        break  # both have run off
                    return False
        return True


def read_runs(cases: Sequence[AdafactorCase], tensors: Mapping[str, Tensor]) -> list[Run]:
    """Read what was seen of every case, beside Adafactor's steps."""
    runs = []
    for number, case in enumerate(cases):
        drawn, indices = Drawn(case), range(len(case.shapes))
        seen = [tensors[f"{number}.{index}"] for index in indices]
        runs.append(Run(drawn, seen, [_rows(drawn, index) for index in indices]))
        for own, wanted in zip(seen, runs[-1].wanted, strict=True):
            if own.shape != wanted.shape:
                raise ValueError("weights of another shape")
    return runs


def _rows(drawn: Drawn, index: int) -> Tensor:
    return torch.stack([weight.flatten() for weight in simulate(drawn, index, RIGHT)])


def judge_runs(runs: Sequence[Run]) -> Verdict | None:
    """Return the verdict on the first miss in any case, or None."""
    for number, run in enumerate(runs):
        miss = run.miss()
        if miss is None:
            continue
        step, index = miss
        expected = f"after step {step}, the weights of Adafactor ({describe(run.drawn.case, index, step)})"
        measured = say_movement(run.seen[index][step - 1], run.wanted[index][step - 1], run.start(index))
        if all(torch.equal(row.double(), run.start(i)) for i, seen in enumerate(run.seen) for row in seen):
            look_at = (
                "which line changes the weight itself (-=, sub_): `weight = ...` only gives a name to a new tensor"
            )
            return Verdict("weight_not_changed", expected, "weights that never move", look_at)
        before = run.seen[index][step - 2].double() if step > 1 else run.start(index)
        if before.any() and torch.equal(run.seen[index][step - 1].double(), before):
            gradient = run.drawn.gradients[step - 1][index]
            if gradient is not None and gradient.any():
                look_at = "how far the loops go: continue skips one tensor, break and return leave the others out"
                return Verdict("tensor_not_updated", expected, "a tensor that this step left as it was", look_at)
        code, look_at = _explain(runs, number)
        return Verdict(code, expected, measured, look_at)
    return None


def describe(case: AdafactorCase, index: int, step: int = 1) -> str:
    """Name a tensor of a case and its options at a step, counted from 1."""
    options = case.options(case.groups[index], step)
    shape = " x ".join(map(str, case.shapes[index])) or "single"
    named = ", ".join(
        f"{name} {value if value is True or value is False else f'{value:g}'}" for name, value in options.items()
    )
    return f"{shape} numbers, {named}"


def _explain(runs: Sequence[Run], number: int) -> tuple[str, str]:
    run = runs[number]
    found = find_recipe(runs, number, _recipes((deviation,) for deviation in (*STEP, *ESTIMATES, *SECOND_EPSILONS)))
    if found:
        return found.code, found.look_at
    visible = adafactor_cases(VISIBLE_SEED)[number]
    names = ("decay_rates", "group_eps", "decays", "clip_thresholds", "learning_rates")
    as_visible = replace(run.drawn.case, **{name: getattr(visible, name) for name in names})
    if run.explained_by(RIGHT, Drawn(as_visible)):
        return "visible_case_hard_coded", "options that are right for other tensors: where are they read?"
    for factor in FACTORS:
        if run.explained_by(Recipe(estimate=Estimate(gradient=factor))):
            return "gradient_scaled", f"a factor of {factor:g} on the gradient: Adafactor hides it but for eps"
    rate = _first_factor(run)
    if rate is not None and run.explained_by(Recipe(rate=rate)):
        return "learning_rate_scaled", f"a factor of {rate:.4g} on the learning rate"
    if _is_scale_carried(run):
        return (
            "scale_carried_over",
            "where the rate of a tensor begins: at the group's lr, not at the last tensor's rate",
        )
    found = find_recipe(runs, number, _recipes(pairs((*STEP, *ESTIMATES))))
    if found:
        return found.code, found.look_at
    return UNRECOGNISED, _look_at_miss(run)


def _recipes(candidates: Iterable[tuple[Deviation, ...]]) -> Iterator[tuple[Deviation, Recipe]]:
    """Yield misconceptions that come together as one recipe, under the name of the first."""
    for deviations in candidates:
        recipe = RIGHT
        for deviation in deviations:
            recipe = deviation.step(recipe)
        yield deviations[0], recipe


def _is_scale_carried(run: Run) -> bool:
    """Tell whether a tensor's rate is scaled by the tensors before it too, as where lr is read once for a group."""
    step, index = run.miss() or (1, 0)
    case, start = run.drawn.case, run.start(index)
    group = case.groups[index]
    if step > 1 or not case.is_scaled[group] or case.decays[group]:
        return False
    earlier = [own for own in case.members(group) if own < index and run.drawn.gradients[0][own] is not None]
    factor = 1.0
    for own in earlier:
        factor *= max(SMALLEST_SCALE, float(root_mean_square(run.drawn.weights[own])))
    return bool(earlier) and is_near(
        run.seen[index][0], start + factor * (run.wanted[index][0] - start), start, TOLERANCE
    )


def _look_at_miss(run: Run) -> str:
    """Say where to look when no misconception takes these steps: at which tensor, and at which step."""
    step, index = run.miss() or (1, 0)
    tensors = zip(run.drawn.case.shapes, run.seen, run.wanted, strict=True)
    rows = enumerate(tensors)
    right = [
        str(tuple(shape))
        for place, (shape, seen, wanted) in rows
        if is_near(seen[-1], wanted[-1], run.start(place), TOLERANCE)
    ]
    others = f"; right are those of shape {', '.join(right)}" if right else ""
    before = "step 1 is" if step == 2 else f"the steps before {step} are"
    when = (
        "the update, line by line, at step 1, where beta is 0"
        if step == 1
        else f"{before} right: what is kept or counted from step to step, and which options step {step} changes"
    )
    return f"the tensor of shape {tuple(run.drawn.case.shapes[index])}: {when}{others}"


def _first_factor(run: Run) -> float | None:
    """Return how many times as long the first movement of the first tensor that moves is as it should be."""
    for index, (seen, wanted) in enumerate(zip(run.seen, run.wanted, strict=True)):
        start = run.start(index)
        should = torch.linalg.vector_norm(wanted[0] - start)
        if should > 0:
            return float(torch.linalg.vector_norm(seen[0] - start) / should)
    return None
