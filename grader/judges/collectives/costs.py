"""Verdict on the predicted rounds and bytes of an all-reduce."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from grader.cases.collectives import ALGORITHMS, CostCase, cost_cases
from grader.observation import Observation
from grader.units import MIB
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
RELATIVE_TOLERANCE = 1e-9  # a share computed as a float may round; the formulas are exact

Formula = Callable[[int], float]  # of the number of ranks; bytes in tensors
Cost = tuple[float, float]  # rounds, bytes


def _levels(ranks: int) -> int:
    return (ranks - 1).bit_length()


ROUNDS: dict[str, Formula] = {
    "naive": lambda n: 2 * (n - 1),
    "tree": lambda n: 2 * _levels(n),
    "butterfly": _levels,
    "ring": lambda n: 2 * (n - 1),
}
TENSORS: dict[str, Formula] = {
    "naive": lambda n: n - 1,
    "tree": _levels,
    "butterfly": _levels,
    "ring": lambda n: 2 * (n - 1) / n,
}


@dataclass(frozen=True)
class Slip:
    """A misconception about one number of one algorithm.

    Attributes:
        code: Its stable name.
        algorithm: The algorithm.
        is_rounds: Whether it is about rounds; else about bytes.
        formula: What it yields, for so many ranks; bytes in tensors.
        look_at: What the learner is told to look at.
    """

    code: str
    algorithm: str
    is_rounds: bool
    formula: Formula
    look_at: str


_HALF = "the result has to come back to all ranks: that takes as many rounds again"
_ONE_EACH = "a rank receives one message in a round: how many does rank 0 receive?"
_WHO = "the rank that sends most: which one is it, and to how many does it send?"
_SENT = "what is sent counts, and not what is received as well"
SLIPS = (
    Slip("naive_one_way", "naive", True, lambda n: n - 1, _HALF),
    Slip("naive_all_at_once", "naive", True, lambda n: 2, _ONE_EACH),
    Slip(
        "naive_counts_the_root",
        "naive",
        True,
        lambda n: 2 * n,
        "rank 0 sends itself nothing: how many others are there?",
    ),
    Slip(
        "naive_counts_the_root", "naive", True, lambda n: n, "rank 0 sends itself nothing: how many others are there?"
    ),
    Slip("naive_leaf_bytes", "naive", False, lambda n: 1, _WHO),
    Slip(
        "naive_root_sends_itself",
        "naive",
        False,
        lambda n: n,
        "rank 0 sends itself nothing: how many others are there?",
    ),
    Slip("naive_received_too", "naive", False, lambda n: 2 * (n - 1), _SENT),
    Slip("tree_one_way", "tree", True, _levels, _HALF),
    Slip(
        "tree_one_by_one",
        "tree",
        True,
        lambda n: 2 * (n - 1),
        "pairs talk side by side: how many sums are left after a round?",
    ),
    Slip(
        "tree_one_by_one",
        "tree",
        True,
        lambda n: n - 1,
        "pairs talk side by side: how many sums are left after a round?",
    ),
    Slip(
        "tree_logarithm_not_rounded",
        "tree",
        True,
        lambda n: 2 * math.log2(n),
        "rounds are whole: what do 5 ranks need?",
    ),
    Slip(
        "tree_rounded_down",
        "tree",
        True,
        lambda n: 2 * math.floor(math.log2(n)),
        "rounds for 5 ranks: 4 are not enough to bring in the fifth",
    ),
    Slip(
        "tree_natural_logarithm",
        "tree",
        True,
        lambda n: 2 * math.log(n),
        "the base of the logarithm: each round halves",
    ),
    Slip("tree_leaf_bytes", "tree", False, lambda n: 1, _WHO),
    Slip(
        "tree_up_and_down",
        "tree",
        False,
        lambda n: 2,
        "rank 0 sends nothing on the way up: to how many on the way down?",
    ),
    Slip("tree_received_too", "tree", False, lambda n: 2 * _levels(n), _SENT),
    Slip(
        "tree_root_sends_to_all",
        "tree",
        False,
        lambda n: n - 1,
        "on the way down others pass it on: to how many does rank 0 send?",
    ),
    Slip(
        "tree_bytes_not_rounded",
        "tree",
        False,
        math.log2,
        "messages are whole: to how many ranks does rank 0 send, of 5?",
    ),
    Slip(
        "tree_bytes_rounded_down",
        "tree",
        False,
        lambda n: math.floor(math.log2(n)),
        "to how many ranks does rank 0 send, of 5?",
    ),
    Slip(
        "butterfly_both_ways",
        "butterfly",
        True,
        lambda n: 2 * _levels(n),
        "after the last round every rank has the sum: nothing comes back",
    ),
    Slip(
        "butterfly_one_by_one",
        "butterfly",
        True,
        lambda n: n - 1,
        "what a rank holds doubles in each round: 1, 2, 4, ...",
    ),
    Slip(
        "butterfly_halves", "butterfly", True, lambda n: n / 2, "what a rank holds doubles in each round: 1, 2, 4, ..."
    ),
    Slip("butterfly_once", "butterfly", False, lambda n: 1, "a rank sends its whole tensor in each round"),
    Slip("butterfly_received_too", "butterfly", False, lambda n: 2 * _levels(n), _SENT),
    Slip(
        "butterfly_to_all", "butterfly", False, lambda n: n - 1, "in each round a rank has one partner, not all others"
    ),
    Slip(
        "ring_one_way",
        "ring",
        True,
        lambda n: n - 1,
        "after N - 1 rounds a rank has one finished chunk: how long do the others need?",
    ),
    Slip("ring_counts_itself", "ring", True, lambda n: 2 * n, "a chunk has to pass N - 1 ranks, and not N"),
    Slip("ring_counts_itself", "ring", True, lambda n: n, "a chunk has to pass N - 1 ranks, and not N"),
    Slip(
        "ring_not_chunked",
        "ring",
        False,
        lambda n: n - 1,
        "what is sent in one round: a chunk, the N-th part of the tensor",
    ),
    Slip(
        "ring_not_chunked",
        "ring",
        False,
        lambda n: 2 * (n - 1),
        "what is sent in one round: a chunk, the N-th part of the tensor",
    ),
    Slip("ring_half_bytes", "ring", False, lambda n: (n - 1) / n, "the chunks go round twice"),
    Slip(
        "ring_limit",
        "ring",
        False,
        lambda n: 2,
        "two tensors are the limit for many ranks: how many chunks does a rank send?",
    ),
    Slip("ring_one_message", "ring", False, lambda n: 1 / n, "one message is one chunk: how many does a rank send?"),
    Slip("ring_received_too", "ring", False, lambda n: 4 * (n - 1) / n, _SENT),
)


def judge_all_reduce_costs(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with the formulas, and name what explains a miss."""
    cases = cost_cases(seed)
    answers = [(float(rounds), float(size)) for rounds, size in observation.facts["predicted"]]
    wrong = [
        (case, answer) for case, answer in zip(cases, answers, strict=True) if not _are_near(answer, cost_of(case))
    ]
    if wrong:
        code, look_at, algorithm = _recognise(cases, answers)
        case, answer = next((pair for pair in wrong if pair[0].algorithm == algorithm), wrong[0])
        where = f"{case.algorithm}, {case.world_size} ranks, {case.tensor_bytes:,} bytes"
        return Verdict(code, f"{_say(cost_of(case))} for {where}", _say(answer), look_at)
    measured = f"{len(cases)} all-reduces; ring on 8 ranks {_say(cost_of(cases[3]))}"
    return Verdict(PASSED, f"rounds and bytes of {len(cases)} all-reduces", measured)


def cost_of(case: CostCase) -> Cost:
    """Return rounds, and the bytes that the rank sends that sends most."""
    return ROUNDS[case.algorithm](case.world_size), TENSORS[case.algorithm](case.world_size) * case.tensor_bytes


def _recognise(cases: Sequence[CostCase], answers: Sequence[Cost]) -> tuple[str, str, str]:
    """Return code, where to look, and the algorithm whose first miss is shown; "" for any."""
    for code, formula, look_at in _WHOLE:
        if all(_are_near(answer, formula(case)) for case, answer in zip(cases, answers, strict=True)):
            return code, look_at, ""
    if len(set(answers)) == 1:
        return "same_for_all", "your answer is the same for all algorithms and ranks: what does it read?", ""
    for slip in _explaining(cases, answers):
        return slip.code, slip.look_at, slip.algorithm
    if all(_are_near(answer, cost_of(case)) for case, answer in zip(cost_cases(VISIBLE_SEED), answers, strict=True)):
        look_at = "numbers that are right for other ranks: what does your answer depend on?"
        return "visible_case_hard_coded", look_at, ""
    if all(_are_near(a, cost_of(c)) for c, a in zip(cases, answers, strict=True) if c.world_size == 8):
        return "right_for_eight_ranks", "other numbers of ranks: which of your numbers is 8, or 3, or 7?", ""
    wrong = next(c for c, a in zip(cases, answers, strict=True) if not _are_near(a, cost_of(c)))
    return UNRECOGNISED, f"the {wrong.algorithm} on 4 ranks, on paper: who sends what to whom, round by round?", ""


def _explaining(cases: Sequence[CostCase], answers: Sequence[Cost]) -> Iterator[Slip]:
    """Yield slips that explain every miss in one number of one algorithm, in the order of the cases."""
    for algorithm in ALGORITHMS:
        own = [(c, a) for c, a in zip(cases, answers, strict=True) if c.algorithm == algorithm]
        for place, is_rounds in ((0, True), (1, False)):
            if all(_is_near(answer[place], cost_of(case)[place]) for case, answer in own):
                continue
            for slip in SLIPS:
                if slip.algorithm == algorithm and slip.is_rounds == is_rounds and _explains(slip, own):
                    yield slip


def _explains(slip: Slip, own: Sequence[tuple[CostCase, Cost]]) -> bool:
    place = 0 if slip.is_rounds else 1
    return all(
        _is_near(answer[place], slip.formula(case.world_size) * (1 if slip.is_rounds else case.tensor_bytes))
        for case, answer in own
    )


def _of_all_ranks(case: CostCase) -> Cost:
    """Return the bytes of all ranks together."""
    n = case.world_size
    tensors = {"naive": 2 * (n - 1), "tree": 2 * (n - 1), "butterfly": n * _levels(n), "ring": 2 * (n - 1)}
    return cost_of(case)[0], tensors[case.algorithm] * case.tensor_bytes


def _with_received(case: CostCase) -> Cost:
    rounds, size = cost_of(case)
    return rounds, 2 * size


_WHOLE: tuple[tuple[str, Callable[[CostCase], Cost], str], ...] = (
    ("swapped", lambda case: (cost_of(case)[1], cost_of(case)[0]), "the order of the two numbers: rounds, then bytes"),
    (
        "naive_for_all",
        lambda c: (2 * (c.world_size - 1), (c.world_size - 1) * c.tensor_bytes),
        "each of the four by itself: yours all go through rank 0",
    ),
    ("bytes_of_all_ranks", _of_all_ranks, "the rank that sends most, and not all ranks together"),
    ("received_counted_too", _with_received, _SENT),
    ("mebibytes_for_bytes", lambda c: (cost_of(c)[0], cost_of(c)[1] / MIB), "the unit: bytes are asked for, not MiB"),
    ("megabytes_for_bytes", lambda c: (cost_of(c)[0], cost_of(c)[1] / 1e6), "the unit: bytes are asked for, not MB"),
    ("elements_for_bytes", lambda c: (cost_of(c)[0], cost_of(c)[1] / 4), "the unit: tensor_bytes are bytes already"),
    (
        "tensors_for_bytes",
        lambda c: (cost_of(c)[0], TENSORS[c.algorithm](c.world_size)),
        "the unit: bytes are asked for, not tensors",
    ),
)


def _are_near(answer: Cost, truth: Cost) -> bool:
    return _is_near(answer[0], truth[0]) and _is_near(answer[1], truth[1])


def _is_near(answer: float, truth: float) -> bool:
    return abs(answer - truth) <= RELATIVE_TOLERANCE * abs(truth)


def _say(cost: Cost) -> str:
    return f"{cost[0]:,.6g} rounds and {cost[1]:,.10g} bytes"
