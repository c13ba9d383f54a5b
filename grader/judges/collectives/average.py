"""Verdict on the repaired function that averages over a ring."""

from __future__ import annotations

from dataclasses import replace

from grader.cases.collectives import average_cases
from grader.judges.collectives.ring import explain_ring, judge_rings, judge_stop
from grader.judges.collectives.runs import Run, runs_of
from grader.judges.collectives.sums import Explained, judge_equal_bits, judge_values
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def judge_ring_average(observation: Observation, seed: int) -> Verdict:
    """Compare the mean of every rank, times the number of ranks, with the sum; then what was sent."""
    runs = runs_of(observation, average_cases(seed))
    sums = [replace(run, returned=[value.double() * run.ranks for value in run.returned]) for run in runs]
    wrong = judge_values(sums, _explain, what="mean times the number of ranks")
    wrong = wrong or judge_stop(observation, runs, loops=2)
    wrong = wrong or judge_rings(runs, loops=2) or judge_equal_bits(runs)
    if wrong:
        return wrong
    return Verdict(PASSED, "the mean on every rank", f"{len(runs)} means, each input as it was, 2 (N - 1) messages")


def _explain(run: Run) -> Explained | None:
    if run.case.is_counting and run.ranks > 1:
        total = run.case.inputs().sum(0)
        ratios = {round(float((value / total).flatten()[0]), 9) for value in run.returned if value.shape == total.shape}
        if ratios == {float(run.ranks)}:
            return "not_averaged", "the division by the number of ranks: what you return is the sum"
        if ratios == {round(1 / run.ranks, 9)}:
            return "averaged_twice", "the division by the number of ranks: it is done twice"
        if ratios == {round(run.ranks / (run.ranks - 1), 9)}:
            return "divided_by_others", "what you divide by: the rank's own tensor is in the sum too"
        if ratios == {round(run.ranks / (run.ranks + 1), 9)}:
            return "divided_by_pieces", "what you divide by: the number of ranks, which is not that of your pieces"
    return explain_ring(run)
