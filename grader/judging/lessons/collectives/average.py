"""Verdict on the repaired function that averages over a ring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from grader.judging.lessons.collectives.counts import say_count, total_of
from grader.judging.lessons.collectives.explained import Explained
from grader.judging.lessons.collectives.patterns import judge_equal_bits
from grader.judging.lessons.collectives.ring import explain_ring, judge_rings, judge_stop
from grader.judging.lessons.collectives.runs import COUNT_TOLERANCE, Run, runs_of
from grader.judging.lessons.collectives.sums import judge_values
from grader.lessons.collectives.reductions import BASE, average_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

ROUNDED_DIGITS = 9  # of a ratio; the ratios of all mistakes differ long before

_SUM, _TWICE = "the division: what you return is the sum", "the division: it is done twice"
_OTHERS = "what you divide by: the rank's own tensor is in the sum too"
_PIECES = "what you divide by: the number of ranks, which is not that of your pieces"
_ELEMENTS = "what you divide by: the number of ranks, and not that of the elements"
DIVISORS: tuple[tuple[str, Callable[[Run], float], str], ...] = (
    ("not_averaged", lambda run: 1, _SUM),
    ("averaged_twice", lambda run: run.ranks**2, _TWICE),
    ("divided_by_others", lambda run: run.ranks - 1, _OTHERS),
    ("divided_by_pieces", lambda run: run.ranks + 1, _PIECES),
    ("divided_by_elements", lambda run: run.case.elements, _ELEMENTS),
)


def judge_ring_average(observation: Observation, seed: int) -> Verdict:
    """Compare the mean of every rank, times the number of ranks, with the sum; then what was sent."""
    runs = runs_of(observation, average_cases(seed))
    sums = [replace(run, returned=[value.double() * run.ranks for value in run.returned]) for run in runs]
    wrong = judge_values(sums, lambda run: _explain(run, sums), what="mean times the number of ranks")
    wrong = wrong or judge_stop(observation, runs, loops=2)
    wrong = wrong or judge_rings(runs, loops=2) or judge_equal_bits(runs)
    if wrong:
        return wrong
    return Verdict(PASSED, "the mean on every rank", f"{len(runs)} means, each input as it was, 2 (N - 1) messages")


def _explain(run: Run, runs: Sequence[Run]) -> Explained | None:
    if not run.case.is_counting or run.ranks == 1:
        return explain_ring(run)
    return _explain_divisor(run, runs) or _explain_rounding(run) or _explain_weights(run) or explain_ring(run)


def _explain_divisor(run: Run, runs: Sequence[Run]) -> Explained | None:
    """Name what the sum is divided by; where one run leaves that open, the others decide."""
    counting = [one for one in runs if one.case.is_counting and one.ranks > 1]
    for judged in (counting, [run]):
        for code, divisor, look_at in DIVISORS:
            if all(_ratios(one) == {round(one.ranks / divisor(one), ROUNDED_DIGITS)} for one in judged):
                return Explained(code, look_at)
    return None


def _ratios(run: Run) -> set[float]:
    """Return the different quotients of what the ranks hold first and the sum."""
    return {round(float(value.flatten()[0]) / total_of(run.ranks), ROUNDED_DIGITS) for value in run.returned}


def _explain_rounding(run: Run) -> Explained | None:
    """Name a mean that was made whole; its digits would count ranks that are not missing."""
    mean = total_of(run.ranks) / run.ranks
    held = _numbers(run)
    for name, whole in (("down", float(int(mean))), ("up", float(int(mean) + 1))):
        if mean != whole and all(abs(number / run.ranks - whole) <= COUNT_TOLERANCE for number in held):
            look_at = "the division: `//`, `round` and integers make the mean a whole number"
            return Explained("mean_rounded", look_at, f"{whole:,.0f}, the mean {mean:,.2f} rounded {name}")
    return None


def _explain_weights(run: Run) -> Explained | None:
    """Name a division inside the loop, which divides what came first most often."""
    held = [number / run.ranks for number in _numbers(run)]
    for code, divisor, look_at in (
        (
            "divided_at_each_step",
            run.ranks,
            "the division inside the loop: what passes on is divided again at each rank",
        ),
        ("averaged_in_pairs", 2, "(a + b) / 2 at each step: what the last rank gives weighs half, and the rest less"),
    ):
        for weights in _weighted(run.ranks, divisor):
            for more in (1, run.ranks):  # the division at the end may be there too
                if all(any(abs(number * more - w) <= COUNT_TOLERANCE for w in weights) for number in held):
                    return Explained(code, look_at, f"{say_count(held[0])} in element 0 on rank 0, which is no mean")
    return None


def _weighted(ranks: int, divisor: int) -> Iterator[list[float]]:
    """Yield the chunks, by last rank, for a division in the loop: of what arrives, then of what is added up."""
    numbers = [[float(BASE ** ((last - hop) % ranks)) for hop in range(ranks)] for last in range(ranks)]
    arriving = [sum(number / divisor**hop for hop, number in enumerate(one)) for one in numbers]
    yield arriving
    first = (divisor - 1) / divisor**ranks  # the first rank's number is not divided where it begins
    yield [value / divisor + one[-1] * first for value, one in zip(arriving, numbers, strict=True)]


def _numbers(run: Run) -> list[float]:
    return torch.cat([value.flatten().double() for value in run.returned]).tolist()
