"""Judges the numbers that a collective returns, by its family of mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from grader.judging.lessons.collectives.counts import digits_of, say_count, say_first_wrong, total_of
from grader.judging.lessons.collectives.explained import Explained
from grader.judging.lessons.collectives.runs import COUNT_TOLERANCE, Run, describe, differs, rounding_of
from grader.lessons.collectives.reductions import BASE, ReductionCase
from grader.verdict import UNRECOGNISED, Verdict

Expect = Callable[[ReductionCase], list[Tensor]]  # float64, by rank
Explain = Callable[[Run], Explained | None]

MESSAGES = {"send", "recv"}  # point to point by the library, as an observation names them
RANK_MISSING = "a digit 0 is a rank that never reached this element: which message should have brought it?"
COUNTED_TWICE = "a digit above 1 is a rank that was added again: what is added to a sum that holds it already?"


def sums(case: ReductionCase) -> list[Tensor]:
    """Return the sum of all tensors, for each rank."""
    total = case.inputs().double().sum(0)
    return [total] * case.world_size


def judge_values(runs: Sequence[Run], explain: Explain, *, expect: Expect = sums, what: str = "sum") -> Verdict | None:
    """Find what is wrong with the numbers that the ranks returned, or with what became of their input.

    Args:
        runs: What was seen.
        explain: Names the mistake of a run with wrong numbers by the algorithm that was to be written.
        expect: What each rank has to return.
        what: What that is called.
    """
    for run in runs:
        wanted = expect(run.case)
        if any(run.collectives):
            return _library(run)
        limit = rounding_of(run.case)
        if any(differs(value, right, limit) for value, right in zip(run.returned, wanted, strict=True)):
            found = explain(run) or explain_counts(run, wanted) or _explain_values(run, wanted)
            measured = found.measured or _measured(run, wanted)
            return Verdict(found.code, _expected(run, wanted, what), measured, found.look_at)
    for run in runs:
        if not all(run.kept):
            rank = run.kept.index(False)
            look_at = "what changes in place: a view shares the numbers of its tensor, .clone() does not"
            measured = f"another input on rank {rank} than before, {describe(run.case)}"
            return Verdict("input_changed", "the input as it was", measured, look_at)
    return None


def _library(run: Run) -> Verdict:
    names = sorted({name for one in run.collectives for name in one})
    expected, measured = "messages by send and receive alone", f"a call of {', '.join(names)} of torch.distributed"
    if set(names) <= MESSAGES:
        look_at = "who is called: the `send` and `receive` that your function is given, which are counted"
        return Verdict("library_messages", expected, measured, look_at)
    look_at = "the exercise is by hand: which messages make up what the library does?"
    return Verdict("library_collective", expected, measured, look_at)


def _expected(run: Run, wanted: list[Tensor], what: str) -> str:
    where = f"the {what} on each of {describe(run.case)}"
    if run.case.is_counting:
        return f"{where}: {say_count(total_of(run.ranks))}, where rank r gives 16**r"
    return where


def _measured(run: Run, wanted: list[Tensor]) -> str:
    if run.case.is_counting:
        return say_first_wrong(run.returned, wanted, run.ranks)
    for rank, (value, right) in enumerate(zip(run.returned, wanted, strict=True)):
        if value.shape != right.shape:
            return f"shape {tuple(value.shape)} on rank {rank}"
        if differs(value, right, rounding_of(run.case)):
            return f"up to {float((value.double() - right).abs().max()):.3g} away from it on rank {rank}"
    return "another number"


def explain_counts(run: Run, wanted: list[Tensor]) -> Explained | None:
    """Name the mistake behind wrong sums of 16**r."""
    if not run.case.is_counting or any(v.shape != r.shape for v, r in zip(run.returned, wanted, strict=True)):
        return None
    values = torch.cat([value.flatten().double() for value in run.returned])  # rank after rank
    rights = torch.cat([right.flatten() for right in wanted])
    is_right = (values - rights).abs() <= COUNT_TOLERANCE
    found = _explain_whole(run, values, rights)
    if not found and len(values) == run.ranks * run.case.elements:
        found = _explain_places(run, is_right.view(run.ranks, -1))
    if found:
        return found
    digits = [digits_of(number, run.ranks) for number in set(values[~is_right].tolist())]
    if any(one is None for one in digits):
        return Explained("not_a_sum", "what is added to what: these numbers are no sum of what the ranks gave")
    known = [one for one in digits if one is not None]
    missing, repeated = any(0 in one for one in known), any(max(one) > 1 for one in known)
    if all(sum(one) == 1 for one in known):
        return Explained(
            "overwritten", "each number is one rank's alone: what is received has to be added to what is there"
        )
    if missing and repeated:
        return Explained("missing_and_repeated", f"{RANK_MISSING} And {COUNTED_TWICE}")
    return Explained("rank_missing", RANK_MISSING) if missing else Explained("counted_twice", COUNTED_TWICE)


def _explain_whole(run: Run, values: Tensor, rights: Tensor) -> Explained | None:
    own = [torch.full_like(value.flatten().double(), BASE**rank) for rank, value in enumerate(run.returned)]
    if torch.equal(values, torch.cat(own)):
        return Explained("own_tensor_returned", "what your function returns: each rank still has what it began with")
    ratios = values / rights
    if len(ratios) and bool(((ratios - ratios[0]).abs() <= 1e-9).all()):
        ratio = float(ratios[0])
        if abs(ratio * run.ranks - 1) <= 1e-9:
            return Explained("mean_for_sum", "a division by the number of ranks: a sum is asked for")
        digits = digits_of(float(values[0]), run.ranks)
        if digits and len(set(digits)) > 1:
            return None  # some ranks are in it and others are not
        return Explained("scaled", f"every number is {ratio:g} times the right one: where does this factor come from?")
    return None


def _explain_places(run: Run, is_right: Tensor) -> Explained | None:
    """Name the mistake by where right numbers are, [ranks, elements]."""
    whole = is_right.all(1)
    if whole.any() and not whole.all():
        ranks = torch.nonzero(whole).flatten().tolist()
        if len(ranks) == 1:
            return Explained("only_one_rank_knows", f"rank {ranks[0]} alone has the result: how do the others get it?")
        return Explained(
            "some_ranks_know", f"ranks {ranks} have the result and the others do not: what do they do otherwise?"
        )
    if run.ranks > 2 and bool((is_right.sum(0) == 1).all()) and bool(is_right.any(1).all()):
        look_at = "each rank has a share of the sums: are chunks that come in later put into what you return?"
        return Explained("others_chunks_not_put_in", look_at)
    even = run.case.elements // run.ranks * run.ranks
    if even and even < run.case.elements and is_right[:, :even].all():
        return Explained("rest_left_out", "the last elements: the length is no multiple of the number of ranks")
    return None


def _explain_values(run: Run, wanted: list[Tensor]) -> Explained:
    """Name the mistake behind wrong sums of random numbers, where the counted ones are right."""
    pairs = list(zip(run.returned, wanted, strict=True))
    limit = rounding_of(run.case)
    ordered = [
        (value.flatten().double().sort().values, right.flatten().sort().values)
        for value, right in pairs
        if value.shape == right.shape
    ]
    if len(ordered) == len(pairs) and all(bool(((one - other).abs() <= limit).all()) for one, other in ordered):
        return Explained(
            "chunks_misplaced", "right numbers in wrong places: which chunk is where when they are put together?"
        )
    even = run.case.elements // run.ranks * run.ranks
    if 0 < even < run.case.elements and all(
        not differs(value.flatten()[:even], right.flatten()[:even], limit) for value, right in pairs
    ):
        return Explained("rest_left_out", "the last elements: the length is no multiple of the number of ranks")
    if run.ranks == 1:
        return Explained("one_rank_changed", "one rank alone: there is nobody to add, and its own tensor is the result")
    look_at = "one element: on which rank is it added up, from what, and how does it reach the others?"
    return Explained(UNRECOGNISED, look_at)
