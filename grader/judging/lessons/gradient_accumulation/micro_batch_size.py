"""Verdict on the largest micro-batch that fits a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.gradient_accumulation.micro_batch_size import FitCase, fit_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

NOTHING = 0  # stands for a ValueError raised


def divisors(case: FitCase) -> list[int]:
    """Return the sizes that divide the batch, smallest first."""
    return [size for size in range(1, case.batch + 1) if case.batch % size == 0]


def fitting(case: FitCase) -> list[int]:
    """Return the sizes that divide the batch and fit, smallest first."""
    return [size for size in divisors(case) if _fits(case, size)]


def largest(case: FitCase) -> int:
    """Return the largest divisor of the batch that fits; 0 if none does."""
    return max(fitting(case), default=NOTHING)


def _fits(case: FitCase, size: int) -> bool:
    return case.peak_bytes(size) <= case.budget_bytes


def _before_first_failure(case: FitCase) -> int:
    """Return what a search upwards finds that stops at the first size that does not fit."""
    best = NOTHING
    for size in divisors(case):
        if not _fits(case, size):
            break
        best = size
    return best


def _halves(case: FitCase) -> list[int]:
    sizes = [case.batch]
    while sizes[-1] % 2 == 0:
        sizes.append(sizes[-1] // 2)
    return sizes


def _fitting(case: FitCase, sizes: Iterable[int]) -> int:
    return max((size for size in sizes if _fits(case, size)), default=NOTHING)


ONE_ROW = "one row uses the device badly: which larger sizes fit?"
WHOLE_BATCH = "the whole batch does not always fit: which smaller sizes do?"

MISTAKES: tuple[Mistake[FitCase], ...] = (
    Mistake("one_row_only", lambda c: 1, ONE_ROW),
    Mistake("one_row_only", lambda c: 1 if _fits(c, 1) else NOTHING, ONE_ROW),
    Mistake("one_row_only", lambda c: min(fitting(c), default=NOTHING), ONE_ROW),
    Mistake("whole_batch", lambda c: c.batch, WHOLE_BATCH),
    Mistake("whole_batch", lambda c: c.batch if _fits(c, 1) else NOTHING, WHOLE_BATCH),
    Mistake(
        "one_row_decides",
        lambda c: largest(c) if _fits(c, 1) else NOTHING,
        "one row does not fit, and the whole batch does: it holds no accumulated gradient",
    ),
    Mistake(
        "not_a_divisor",
        lambda c: _fitting(c, range(1, c.batch + 1)),
        "groups of unequal micro-batches: does the size divide the batch?",
    ),
    Mistake(
        "uneven_last_micro_batch",
        lambda c: _fitting(c, (c.batch // k for k in range(1, c.batch + 1))),
        "a batch that k does not divide: batch // k rows, k times, are not the whole batch",
    ),
    Mistake(
        "budget_excluded",
        lambda c: max((s for s in divisors(c) if c.peak_bytes(s) < c.budget_bytes), default=NOTHING),
        "a peak that equals the budget: does it fit?",
    ),
    Mistake(
        "powers_of_two_only",
        lambda c: _fitting(c, (2**e for e in range(10) if c.batch % 2**e == 0)),
        "sizes that are no power of two",
    ),
    Mistake(
        "splits_of_the_lesson",
        lambda c: _fitting(c, (c.batch // k for k in (1, 2, 4, 8))),
        "k = 1, 2, 4, 8 are the splits of one figure: which k are possible for another batch?",
    ),
    Mistake("halves_only", lambda c: _fitting(c, _halves(c)), "sizes that you do not reach by halving the batch"),
    Mistake(
        "stopped_at_first_failure",
        _before_first_failure,
        "the whole batch: it holds no accumulated gradient, so a smaller size may need more",
    ),
    Mistake("nothing_found", lambda c: NOTHING, "the condition for a ValueError: here a size fits"),
    Mistake(
        "count_for_size",
        lambda c: c.batch // largest(c) if largest(c) else NOTHING,
        "rows of one micro-batch are asked for, not how many micro-batches there are",
    ),
)

UNHEARD = Mistake[FitCase](
    "nothing_fits_not_raised", lambda c: NOTHING, "a job that nothing fits: the caller has to hear of it"
)
ZERO = Mistake[FitCase]("zero_rows_returned", lambda c: 0, "zero rows are no micro-batch: the caller has to hear of it")


def judge_largest_micro_batch(observation: Observation, seed: int) -> Verdict:
    """Compare every chosen size with the largest that fits; None stands for a ValueError."""
    cases, answers = fit_cases(seed), observation.facts["chosen"]
    for case, answer in zip(cases, answers, strict=True):
        right = largest(case) or None
        if answer != right:
            unheard = ZERO if answer == 0 else UNHEARD
            mistake = unheard if right is None else _recognise(cases, answers) or _uneven(case, answer)
            return failed(mistake, _say(right, case), _say(answer, case), "which sizes you try, and in which order")
    for reason in observation.facts["reasons"]:
        if not reason or reason.startswith(("max()", "min()")):
            expected = "a ValueError whose text says that nothing fits"
            measured = f"the text '{reason}'" if reason else "a ValueError without a text"
            return Verdict("error_without_reason", expected, measured, "what the caller reads: raise it yourself")
    return Verdict(PASSED, "the largest size that fits", f"{len(cases)} jobs, each with its largest micro-batch")


def _recognise(cases: Sequence[FitCase], answers: Sequence[float | None]) -> Mistake[FitCase] | None:
    """Recognise a mistake by the jobs that some size fits: what happens when nothing fits is another matter."""
    fitted = [(case, answer or NOTHING) for case, answer in zip(cases, answers, strict=True) if fitting(case)]
    return recognise(MISTAKES, [case for case, _ in fitted], [answer for _, answer in fitted])


def _uneven(case: FitCase, answer: float | None) -> Mistake[FitCase] | None:
    if not answer or case.batch % answer == 0:
        return None
    return Mistake("size_does_not_divide", largest, f"{answer:g} does not divide {case.batch}: which sizes do?")


def _say(answer: float | None, case: FitCase) -> str:
    job = f"for a batch of {case.batch} in {format_bytes(case.budget_bytes)}"
    if answer is None:
        return f"a ValueError {job}: one row needs {format_bytes(case.peak_bytes(1))}"
    if not 1 <= answer <= case.batch or answer != int(answer):
        return f"{answer} rows {job}"
    rows = "1 row" if answer == 1 else f"{int(answer)} rows"
    return f"{rows} {job}: a peak of {format_bytes(case.peak_bytes(int(answer)))}"
