"""Judges the largest micro-batch that fits a budget."""

from __future__ import annotations

from collections.abc import Callable

from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.gradient_accumulation.micro_batch_size import FitCase, fit_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

Peak = Callable[[int], int]


def largest(peak: Peak, batch: int, budget: int) -> int | None:
    """Return the largest divisor of the batch that fits; None, which is a ValueError, if none does."""
    sizes = [size for size in range(1, batch + 1) if batch % size == 0]
    fitting = [size for size in sizes if peak(size) <= budget]
    return max(fitting, default=None)


SIZES = "[size for size in range(1, batch + 1) if batch % size == 0]"
FITTING = "[size for size in sizes if peak(size) <= budget]"
LARGEST = "max(fitting, default=None)"


def fitting(case: FitCase) -> list[int]:
    """Return the sizes that divide the batch and fit, smallest first."""
    sizes = range(1, case.batch + 1)
    return [size for size in sizes if case.batch % size == 0 and case.peak_bytes(size) <= case.budget_bytes]


def judge_largest_micro_batch(observation: Observation, seed: int) -> Verdict:
    """Compare every chosen size with the largest that fits; None is a ValueError."""
    cases, chosen = fit_cases(seed), observation.facts["chosen"]
    fitted = [size if fitting(case) else None for case, size in zip(cases, chosen, strict=True)]
    answer = TABLE.answer(seed, fitted)
    if not answer.is_right:
        case: FitCase = answer.case
        expected, measured = _describe(answer.truth, case), _describe(answer.value, case)
        otherwise = (
            "You return another size than the largest that fits. Look at the sizes that you try, and their order."
        )
        return TABLE.explain(answer, expected=expected, measured=measured, otherwise=otherwise)
    for case, size in zip(cases, chosen, strict=True):
        verdict = None if fitting(case) else NOTHING_FITS.judge(size, _describe(None, case), _describe(size, case))
        if verdict:
            return verdict
    for reason in observation.facts["reasons"]:
        if not reason or reason.startswith(("max()", "min()")):
            expected = "a ValueError whose text says that nothing fits"
            measured = f"the text '{reason}'" if reason else "a ValueError without a text"
            look_at = (
                "You leave the caller with an error that gives no reason. Raise a ValueError with a text of your own."
            )
            return Verdict("error_without_reason", expected, measured, look_at)
    return Verdict(PASSED, "the largest size that fits", f"{len(cases)} jobs, each with its largest micro-batch")


def _run(largest: Callable[[Peak, int, int], int | None], case: FitCase) -> int | None:
    """Return the size where some size fits; what an answer does where none fits is judged on its own."""
    return largest(case.peak_bytes, case.batch, case.budget_bytes) if fitting(case) else None


def _does_not_divide(answer: Answer) -> bool:
    return bool(answer.value) and answer.case.batch % answer.value != 0


def _describe(size: float | None, case: FitCase) -> str:
    job = f"for a batch of {case.batch} in {format_bytes(case.budget_bytes)}"
    if size is None:
        return f"a ValueError {job}: one row needs {format_bytes(case.peak_bytes(1))}"
    if not 1 <= size <= case.batch or size != int(size):
        return f"{size} rows {job}"
    rows = "1 row" if size == 1 else f"{int(size)} rows"
    return f"{rows} {job}: a peak of {format_bytes(case.peak_bytes(int(size)))}"


NOTHING_FITS = Table[float | None](
    Misconception(
        "zero_rows_returned",
        "You return 0 rows where nothing fits, and the caller would go on with it. Raise a ValueError.",
        shown_by=lambda size: size == 0,
    ),
    Misconception(
        "nothing_fits_not_raised",
        "You return a size although none fits, and the caller would run out of memory. Raise a ValueError.",
        shown_by=lambda size: size is not None,
    ),
)

TABLE = ReferenceTable(
    largest,
    Misconception(
        "one_row_only",
        "You return the smallest size. One row at a time uses the device badly: return the largest size that fits.",
        {LARGEST: "1"},
        variants=[{LARGEST: "1 if 1 in fitting else None"}, {LARGEST: "min(fitting, default=None)"}],
    ),
    Misconception(
        "whole_batch",
        "You return the whole batch, which does not always fit. Try the smaller sizes too.",
        {LARGEST: "batch"},
        variants=[{LARGEST: "batch if 1 in fitting else None"}],
    ),
    Misconception(
        "one_row_decides",
        "You conclude that nothing fits where one row does not. The whole batch may still fit, since it holds no "
        "accumulated gradients.",
        {LARGEST: "max(fitting, default=None) if 1 in fitting else None"},
    ),
    Misconception(
        "not_a_divisor",
        "You return sizes that do not divide the batch, so the micro-batches would be unequal. Try its divisors only.",
        {SIZES: "range(1, batch + 1)"},
    ),
    Misconception(
        "uneven_last_micro_batch",
        "You try batch // k also where k does not divide the batch, and lose rows. Leave those k out.",
        {SIZES: "[batch // k for k in range(1, batch + 1)]"},
    ),
    Misconception(
        "budget_excluded",
        "You reject a peak that equals the budget. It fits: compare with <=.",
        {FITTING: "[size for size in sizes if peak(size) < budget]"},
    ),
    Misconception(
        "powers_of_two_only",
        "You try powers of two only. Batches have other divisors, too.",
        {SIZES: "[2**power for power in range(10) if batch % 2**power == 0]"},
    ),
    Misconception(
        "splits_of_the_lesson",
        "You split by powers of two only (k = 1, 2, 4, ...), as one figure does. Batches have other divisors, too.",
        {SIZES: "[batch // k for k in (1, 2, 4, 8)]"},
        variants=[{SIZES: "[batch // k for k in (1, 2, 4, 8, 16)]"}],
    ),
    Misconception(
        "halves_only",
        "You try only the sizes that halving the batch gives. Batches have other divisors, too.",
        {SIZES: "[batch // 2**power for power in range(10) if batch % 2**power == 0]"},
    ),
    Misconception(
        "stopped_at_first_failure",
        "You stop at the first size that does not fit. The whole batch holds no accumulated gradients, so it may fit "
        "where a smaller size does not.",
        {FITTING: "[size for size in sizes if all(peak(s) <= budget for s in sizes if s <= size)]"},
    ),
    Misconception(
        "best_used_budget",
        "You return the size whose peak is the nearest to the budget. The largest one may have a lower peak, since the "
        "whole batch holds no accumulated gradients.",
        {LARGEST: "max(fitting, key=peak, default=None)"},
    ),
    Misconception(
        "lowest_peak",
        "You return the size with the lowest peak. Return the largest size whose peak fits.",
        {LARGEST: "min(fitting, key=peak, default=None)"},
    ),
    Misconception(
        "whole_batch_left_out",
        "You never try the whole batch, as one micro-batch. Begin with it.",
        {SIZES: "[size for size in range(1, batch) if batch % size == 0]"},
    ),
    Misconception(
        "one_row_left_out",
        "You never try a micro-batch of one row. It divides every batch.",
        {SIZES: "[size for size in range(2, batch + 1) if batch % size == 0]"},
    ),
    Misconception(
        "reserve_kept",
        "You keep a tenth of the budget free. A peak equal to the budget fits.",
        {FITTING: "[size for size in sizes if peak(size) <= 0.9 * budget]"},
    ),
    Misconception(
        "nothing_found",
        "You raise a ValueError although a size fits. Look at its condition.",
        {LARGEST: "None"},
    ),
    Misconception(
        "count_for_size",
        "You return how many micro-batches there are. Return the rows of one of them.",
        {LARGEST: "batch // max(fitting) if fitting else None"},
    ),
    Misconception(
        "size_does_not_divide",
        "You return {value:g} rows, which do not divide the batch. Try its divisors only.",
        shown_by=_does_not_divide,
    ),
    run=_run,
    cases=fit_cases,
)
