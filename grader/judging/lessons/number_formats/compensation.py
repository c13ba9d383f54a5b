"""Judges sums in a narrow format that should not stall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.references import VISIBLE_SEED, Answer, ReferenceTable, hard_coded
from grader.lessons.number_formats.compensation import SumCase, sum_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

FORMAT_NAMES = {torch.float16: "fp16", torch.bfloat16: "bf16"}

# Compensated sums end about half a spacing away from the exact total, as rounding does: at most 0.58 for 60 seeds.
TOTAL_SPACINGS = 1.0
# Total and lost together: at most 0.17 of a spacing for 60 seeds. Without what is lost, half a spacing is the rule.
PAIR_SPACINGS = 0.3


def add_compensated(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Add a value and what was lost before, and return what is lost now.

    Source: W. Kahan, Further remarks on reducing truncation errors, CACM 8 (1965).
    """
    wanted = value + lost
    new_total = total + wanted
    return new_total, wanted - (new_total - total)


# The parts of the reference that misconceptions edit.
WANTED = "wanted = value + lost"
TOTAL = "total + wanted\n"
LOST = "wanted - (new_total - total)"
RESULT = f"new_total, {LOST}"

LOOK_AT_LOST = "`lost` is what should have been added, wanted, less what was added, new_total - total."
LOOK_AT_SIGN = "`lost` is what the total lacks, so that total + lost is the better sum."
OTHERWISE = f"Do one addition by hand, 4 + 0.01 in bf16: what is added, and what is lost? {LOOK_AT_LOST}"


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
    answer = TABLE.answer(seed, [(one.total, one.lost) for one in sums])
    for one in sums:
        setting = f"{one.case.what}, {FORMAT_NAMES[one.case.dtype]}"
        if not one.total_error <= TOTAL_SPACINGS:
            expected = f"{setting}: a total within {TOTAL_SPACINGS:g} spacing of the exact one"
            return TABLE.explain(answer, expected=expected, measured=_total_text(one), otherwise=OTHERWISE)
        if not one.pair_error <= PAIR_SPACINGS:
            expected = f"{setting}: total + lost within {PAIR_SPACINGS:g} spacings of the exact total"
            measured = f"{one.pair_error:.3g} spacings away"
            return TABLE.explain(answer, expected=expected, measured=measured, otherwise=OTHERWISE)
    steps = sum(one.case.steps for one in sums)
    worst, together = max(one.total_error for one in sums), max(one.pair_error for one in sums)
    measured = f"{steps:,} additions; totals within {worst:.2f} spacings, total + lost within {together:.2f}"
    return Verdict(PASSED, "", measured)


def _read(observation: Observation, index: int, case: SumCase) -> Sums:
    total, lost = observation.tensors[f"{index}.total"], observation.tensors[f"{index}.lost"]
    for tensor in (total, lost):
        if tensor.dtype != case.dtype or tensor.shape != (case.count,):
            raise ValueError(f"no tensor of {case.count} numbers in {case.dtype}")
    return Sums(case, total, lost)


def _run(step: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]], case: SumCase) -> tuple[Tensor, Tensor]:
    total, values = case.make_tensors()
    lost = torch.zeros_like(total)
    for value in values:
        total, lost = step(total, lost, value)
    return total, lost


def _total_text(one: Sums) -> str:
    worst = int(((one.total.double() - one.exact).abs() / one.spacing).nan_to_num(nan=torch.inf).argmax())
    reached, exact = float(one.total[worst]), float(one.exact[worst])
    return f"{reached:.6g} for {exact:.6g}, {one.total_error:,.3g} spacings away after {one.case.steps:,} additions"


def _sums_of(answer: Answer) -> list[Sums]:
    return [Sums(case, *pair) for case, pair in zip(sum_cases(answer.seed), answer.values, strict=True)]


def _has_right_totals(answer: Answer) -> bool:
    return all(one.total_error <= TOTAL_SPACINGS for one in _sums_of(answer))


def _has_visible_totals(answer: Answer) -> bool:
    """Return whether the totals are those of the case that a notebook shows."""
    visible = TABLE.truths(VISIBLE_SEED)
    return bool(answer.wrong) and all(
        torch.equal(total, seen) for (total, _), (seen, _) in zip(answer.values, visible, strict=True)
    )


def _is_stalled(answer: Answer) -> bool:
    """Return whether every total ended where plain addition ends, to a spacing."""
    plain = TABLE.values(TABLE.versions["nothing_carried"][0], answer.seed)
    return all(
        bool(((one.total.double() - total.double()).abs() / one.spacing <= 1).all())
        for one, (total, _) in zip(_sums_of(answer), plain, strict=True)
    )


TABLE = ReferenceTable(
    add_compensated,
    Misconception(
        "nothing_carried",
        "You add the value and keep nothing of what is lost, so values below half a spacing vanish. Keep them in "
        "`lost`, and add it in the next step.",
        {WANTED: "wanted = value", LOST: "lost"},
    ),
    Misconception(
        "lost_never_added",
        "You collect what is lost, and never add it to the total. Add the old `lost` together with the value.",
        {WANTED: "wanted = value", LOST: f"lost + ({LOST})"},
    ),
    Misconception(
        "lost_of_one_step",
        "You return what this step loses, and drop what was lost before. Add the old `lost` together with the value.",
        {WANTED: "wanted = value"},
    ),
    Misconception(
        "lost_forgets_itself",
        f"You subtract what was added from the value alone, without the old `lost`. {LOOK_AT_LOST}",
        {LOST: "value - (new_total - total)"},
    ),
    Misconception(
        "lost_added_twice",
        "You add the old `lost` to the new one, but it is part of what you wanted to add already. Count it once.",
        {LOST: f"lost + ({LOST})"},
    ),
    Misconception(
        "lost_with_wrong_sign",
        f"You return what was added too much, and add it in the next step. {LOOK_AT_SIGN}",
        {LOST: "(new_total - total) - wanted"},
    ),
    Misconception(
        "lost_subtracted",
        f"You subtract the old `lost` from the value. {LOOK_AT_SIGN} Add it.",
        {WANTED: "wanted = value - lost"},
    ),
    Misconception(
        "sign_of_the_published_form",
        f"You keep what was added too much and subtract it, as books print Kahan summation. Here {LOOK_AT_SIGN}",
        {WANTED: "wanted = value - lost", LOST: "(new_total - total) - wanted"},
    ),
    Misconception(
        "old_total_gone",
        "You return all that you wanted to add as `lost`, as if nothing had been added. If you change the total in "
        f"place, the old one is gone. {LOOK_AT_LOST}",
        {LOST: "wanted"},
    ),
    Misconception(
        "order_of_operations",
        "You add the old total last, after wanted - new_total was rounded. Take the difference of the two totals "
        "first.",
        {LOST: "wanted - new_total + total"},
    ),
    Misconception(
        "added_for_lost",
        f"You return what was added, the difference of the two totals, as `lost`. {LOOK_AT_LOST}",
        {LOST: "new_total - total"},
        variants=[{LOST: "total - new_total"}],
    ),
    Misconception(
        "lost_in_the_total_twice",
        "You add the old `lost` to the total twice: it is part of what you wanted to add already.",
        {TOTAL: "total + wanted + lost\n"},
    ),
    Misconception(
        "lost_of_value_alone",
        "You compute what adding the value alone would lose, but you add the old `lost`, too. Use the total that you "
        "return.",
        {LOST: "value - ((total + value) - total)"},
    ),
    Misconception(
        "order_swapped",
        "You return `lost` first. Return the total first, and then what it lacks.",
        {RESULT: f"{LOST}, new_total"},
    ),
    Misconception(
        "stalled",
        "You end where plain addition ends: values below half a spacing vanish next to a large total. Keep them in "
        "`lost` until they count.",
        shown_by=_is_stalled,
    ),
    Misconception(
        "lost_is_not_what_is_missing",
        f"You compute the right totals, but `lost` is not what they lack. {LOOK_AT_LOST}",
        shown_by=_has_right_totals,
    ),
    replace(hard_coded(sum_cases), on=None, shown_by=_has_visible_totals),
    run=_run,
    cases=sum_cases,
)
