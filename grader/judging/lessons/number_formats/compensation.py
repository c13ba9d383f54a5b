"""Verdict on a sum that does not stall in a narrow format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.judging.lessons.number_formats.compensation_mistakes import LOOK_AT, STEPS, Step
from grader.lessons.number_formats.compensation import SumCase, sum_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen

# Compensated sums end about half a spacing away from the exact total, as rounding does: at most 0.58 for 60 seeds.
TOTAL_SPACINGS = 1.0
# Total and lost together: at most 0.17 of a spacing for 60 seeds. Without what is lost, half a spacing is the rule.
PAIR_SPACINGS = 0.3


@dataclass(frozen=True)
class Sums:
    """What one case ended in.

    Attributes:
        case: The case.
        total: Totals at the end.
        lost: What they lack, at the end.
    """

    case: SumCase
    total: Tensor
    lost: Tensor

    @property
    def exact(self) -> Tensor:
        """The exact totals."""
        start, values = self.case.make_tensors()
        return start.double() + values.double().sum(0)

    @property
    def spacing(self) -> Tensor:
        """Spacing of the format at the exact totals."""
        return torch.finfo(self.case.dtype).eps * torch.exp2(self.exact.abs().log2().floor())

    @property
    def total_error(self) -> float:
        """The largest error of a total, in spacings; infinite for NaN."""
        return self._spacings(self.total.double())

    @property
    def pair_error(self) -> float:
        """The largest error of total plus lost, in spacings; infinite for NaN."""
        return self._spacings(self.total.double() + self.lost.double())

    def _spacings(self, reached: Tensor) -> float:
        error = ((reached - self.exact).abs() / self.spacing).nan_to_num(nan=torch.inf)
        return float(error.max())


def judge_compensated_sum(observation: Observation, seed: int) -> Verdict:
    """Compare totals, and totals with what they lack, with the exact sums."""
    sums = [_read(observation, index, case) for index, case in enumerate(sum_cases(seed))]
    for one in sums:
        name = _format_name(one.case)
        if not one.total_error <= TOTAL_SPACINGS:
            expected = f"{one.case.what}, {name}: a total within {TOTAL_SPACINGS:g} spacing of the exact one"
            code = _explain(sums, seed)
            return Verdict(code, expected, _say_total(one), LOOK_AT[code])
        if not one.pair_error <= PAIR_SPACINGS:
            expected = f"{one.case.what}, {name}: total + lost within {PAIR_SPACINGS:g} spacings of the exact total"
            code = _explain(sums, seed, otherwise="lost_is_not_what_is_missing")
            return Verdict(code, expected, f"{one.pair_error:.3g} spacings away", LOOK_AT[code])
    steps = sum(one.case.steps for one in sums)
    worst, together = max(one.total_error for one in sums), max(one.pair_error for one in sums)
    measured = f"{steps:,} additions; totals within {worst:.2f} spacings, total + lost within {together:.2f}"
    return Verdict(PASSED, "", measured)


def run_steps(case: SumCase, step: Step) -> Sums:
    """Add all values of a case with one way to add."""
    total, values = case.make_tensors()
    lost = torch.zeros_like(total)
    for value in values:
        total, lost = step(total, lost, value)
    return Sums(case, total, lost)


def _read(observation: Observation, index: int, case: SumCase) -> Sums:
    total, lost = observation.tensors[f"{index}.total"], observation.tensors[f"{index}.lost"]
    for tensor in (total, lost):
        if tensor.dtype != case.dtype or tensor.shape != (case.count,):
            raise ValueError(f"no tensor of {case.count} numbers in {case.dtype}")
    return Sums(case, total, lost)


def _explain(sums: Sequence[Sums], seed: int, otherwise: str = UNRECOGNISED) -> str:
    """Name the way to add that ends where the learner's does."""
    for code, step in STEPS:
        if all(_is_same(one, run_steps(one.case, step)) for one in sums):
            return code
    visible = [run_steps(case, STEPS[0][1]) for case in sum_cases(VISIBLE_SEED)]
    if seed != VISIBLE_SEED and all(torch.equal(a.total, b.total) for a, b in zip(sums, visible, strict=True)):
        return "visible_case_hard_coded"
    if otherwise == UNRECOGNISED and all(_is_stalled(one) for one in sums):
        return "stalled"
    return otherwise


def _is_same(one: Sums, other: Sums) -> bool:
    return torch.equal(one.total, other.total) and torch.equal(one.lost, other.lost)


def _is_stalled(one: Sums) -> bool:
    """Whether the total ended where plain addition ends, to a spacing."""
    plain = run_steps(one.case, lambda total, lost, value: (total + value, lost))
    apart = (one.total.double() - plain.total.double()).abs() / one.spacing
    return bool((apart <= 1).all())


def _format_name(case: SumCase) -> str:
    return {torch.float16: "fp16", torch.bfloat16: "bf16"}[case.dtype]


def _say_total(one: Sums) -> str:
    worst = int(((one.total.double() - one.exact).abs() / one.spacing).nan_to_num(nan=torch.inf).argmax())
    reached, exact = float(one.total[worst]), float(one.exact[worst])
    return f"{reached:.6g} for {exact:.6g}, {one.total_error:,.3g} spacings away after {one.case.steps:,} additions"
