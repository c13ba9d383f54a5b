"""Misconceptions about one number of one all-reduce."""

from __future__ import annotations

import math
from dataclasses import dataclass

from grader.judging.lessons.collectives.cost_formulas import Formula, levels_of


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
_LATE = "the way up takes whole rounds, and so does the way down: round the logarithm up first, then double it"
_WHO = "the rank that sends most: which one is it, and to how many does it send?"
SENT = "what is sent counts, and not what is received as well"
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
    Slip("naive_received_too", "naive", False, lambda n: 2 * (n - 1), SENT),
    Slip("tree_one_way", "tree", True, levels_of, _HALF),
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
    Slip("tree_rounded_late", "tree", True, lambda n: math.ceil(2 * math.log2(n)), _LATE),
    Slip("tree_rounded_late", "tree", True, lambda n: round(2 * math.log2(n)), _LATE),
    Slip("tree_leaf_bytes", "tree", False, lambda n: 1, _WHO),
    Slip(
        "tree_up_and_down",
        "tree",
        False,
        lambda n: 2,
        "rank 0 sends nothing on the way up: to how many on the way down?",
    ),
    Slip(
        "tree_once_more",
        "tree",
        False,
        lambda n: levels_of(n) + 1,
        "rank 0 sends on the way down alone; a rank that sends up once sends down less often",
    ),
    Slip("tree_received_too", "tree", False, lambda n: 2 * levels_of(n), SENT),
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
        lambda n: 2 * levels_of(n),
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
    Slip("butterfly_received_too", "butterfly", False, lambda n: 2 * levels_of(n), SENT),
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
    Slip("ring_received_too", "ring", False, lambda n: 4 * (n - 1) / n, SENT),
)
