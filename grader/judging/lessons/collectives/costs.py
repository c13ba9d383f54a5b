"""Judges the predicted rounds and bytes of an all-reduce."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.lessons.collectives.costs import ALGORITHMS, CostCase, cost_cases
from grader.observation import Observation
from grader.units import MIB
from grader.verdict import PASSED, Verdict

RELATIVE_TOLERANCE = 1e-9  # a share computed as a float may round; the formulas are exact

Cost = dict[str, float]


def all_reduce_cost(algorithm: str, ranks: int, tensor_bytes: int) -> Cost:
    """Return the rounds of an all-reduce, and the bytes that the rank sends that sends most."""
    size: float
    others, levels = ranks - 1, math.ceil(math.log2(ranks))
    if algorithm == "naive":
        rounds, size = 2 * others, others * tensor_bytes
    if algorithm == "tree":
        rounds, size = 2 * levels, levels * tensor_bytes
    if algorithm == "butterfly":
        rounds, size = levels, levels * tensor_bytes
    if algorithm == "ring":
        rounds, size = 2 * others, 2 * others / ranks * tensor_bytes
    return {"rounds": rounds, "bytes": size}


def judge_all_reduce_costs(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with the formulas; the first number that a misconception explains is reported."""
    predicted = [{"rounds": float(rounds), "bytes": float(size)} for rounds, size in observation.facts["predicted"]]
    answer = WHOLE.answer(seed, predicted)
    if answer.is_right:
        measured = f"{len(predicted)} all-reduces; ring on 8 ranks {_say(WHOLE.truths(seed)[3])}"
        return Verdict(PASSED, f"rounds and bytes of {len(predicted)} all-reduces", measured)
    evidence = [answer, *_wrong_numbers(NUMBERS.answer(seed, predicted))]
    shown = next((part for part in evidence if part.table.find(part)), answer)
    case, value, truth = shown.case, predicted[shown.wrong[0]], WHOLE.truths(seed)[shown.wrong[0]]
    return shown.table.explain(
        shown,
        expected=f"{_say(truth)} for {case.algorithm}, {case.world_size} ranks, {case.tensor_bytes:,} bytes",
        measured=_say(value),
        otherwise=f"Draw the {case.algorithm} on 4 ranks: who sends what to whom, round by round?",
    )


def _wrong_numbers(answer: Answer) -> Iterator[Answer]:
    """Yield what is wrong of an answer: one number of one algorithm after the other."""
    cases = cost_cases(answer.seed)
    for algorithm in ALGORITHMS:
        own = replace(answer, indices=[index for index, case in enumerate(cases) if case.algorithm == algorithm])
        yield from (part for part in map(own.part, ("rounds", "bytes")) if not part.is_right)


def _say(cost: Cost) -> str:
    return f"{cost['rounds']:,.6g} rounds and {cost['bytes']:,.10g} bytes"


def _run(cost: Callable[..., Cost], case: CostCase) -> Cost:
    return cost(case.algorithm, case.world_size, case.tensor_bytes)


def _is_right_for_eight(answer: Answer) -> bool:
    """Return whether all of several algorithms that are wrong are right on eight ranks."""
    cases = cost_cases(answer.seed)
    wrong = [cases[index] for index in answer.wrong]
    return len({case.algorithm for case in wrong}) > 1 and all(case.world_size != 8 for case in wrong)


NAIVE, TREE = "2 * others, others * tensor_bytes", "2 * levels, levels * tensor_bytes"
BUTTERFLY, RING = "size = levels, levels * tensor_bytes", "2 * others, 2 * others / ranks * tensor_bytes"
RESULT = 'return {"rounds": rounds, "bytes": size}'

WHOLE = ReferenceTable(  # misconceptions about all numbers at once
    all_reduce_cost,
    Misconception(
        "swapped",
        "You return the two numbers in the other order. Rounds come first, then bytes.",
        {RESULT: 'return {"rounds": size, "bytes": rounds}'},
    ),
    Misconception(
        "mebibytes_for_bytes",
        "You return MiB, but bytes are asked for. Look at the last division.",
        {RESULT: f'return {{"rounds": rounds, "bytes": size / {MIB}}}'},
    ),
    Misconception(
        "tensors_for_bytes",
        "You return the bytes as a number of tensors. Multiply it by tensor_bytes.",
        {RESULT: 'return {"rounds": rounds, "bytes": size / tensor_bytes}'},
    ),
    Misconception(
        "naive_for_all",
        "You let everything go through rank 0, as the naive way does. Look at the messages of the other three ways by "
        "themselves.",
        {RESULT: 'return {"rounds": 2 * others, "bytes": others * tensor_bytes}'},
    ),
    Misconception(
        "bytes_of_all_ranks",
        "You count the bytes of all ranks together. Only the rank that sends most is asked for.",
        {
            NAIVE: "2 * others, 2 * others * tensor_bytes",
            TREE: "2 * levels, 2 * others * tensor_bytes",
            BUTTERFLY: "size = levels, ranks * levels * tensor_bytes",
            RING: "2 * others, 2 * others * tensor_bytes",
        },
    ),
    Misconception(
        "same_for_all",
        "You return the same numbers for all algorithms and ranks. Compute them from the arguments of your function.",
        shown_by=lambda answer: all(value == answer.values[0] for value in answer.values),
    ),
    hard_coded(cost_cases),
    Misconception(
        "right_for_eight_ranks",
        "You return numbers that are right for 8 ranks and wrong for others. Look for the part of your answer that "
        "does not follow world_size.",
        shown_by=_is_right_for_eight,
    ),
    run=_run,
    cases=cost_cases,
    is_near=within(relative=RELATIVE_TOLERANCE),
)
NUMBERS = ReferenceTable(  # misconceptions about one number, most of them about one algorithm
    all_reduce_cost,
    Misconception(
        "received_counted_too",
        "You count what a rank receives as well as what it sends. Only the bytes that it sends are asked for.",
        {RESULT: 'return {"rounds": rounds, "bytes": 2 * size}'},
    ),
    Misconception(
        "naive_one_way",
        "You count the way to rank 0 only. The result has to come back to all ranks, which takes as many rounds again.",
        {NAIVE: "others, others * tensor_bytes"},
    ),
    Misconception(
        "naive_all_at_once",
        "You let rank 0 receive from all ranks in one round. A rank receives one message in a round, so look at how "
        "many messages reach rank 0.",
        {NAIVE: "2, others * tensor_bytes"},
    ),
    Misconception(
        "naive_leaf_bytes",
        "You count the bytes of a rank that sends one tensor. Rank 0 sends most in the naive way, so look at how "
        "many ranks it sends to.",
        {NAIVE: "2 * others, tensor_bytes"},
    ),
    Misconception(
        "tree_one_way",
        "You count the way up the tree only. The sum has to come down again, which takes as many rounds.",
        {TREE: "levels, levels * tensor_bytes"},
    ),
    Misconception(
        "tree_one_by_one",
        "You let the messages of the tree go one after the other. All pairs talk in the same round, so look at how "
        "many sums are left after it.",
        {TREE: "2 * others, levels * tensor_bytes"},
    ),
    Misconception(
        "tree_logarithm_not_rounded",
        "You do not round the logarithm, but rounds are whole. Look at what the tree needs for 5 ranks.",
        {TREE: "2 * math.log2(ranks), levels * tensor_bytes"},
        variants=[{TREE: "2 * levels, math.log2(ranks) * tensor_bytes"}],
    ),
    Misconception(
        "tree_rounded_down",
        "You round the logarithm down, which leaves ranks out. Look at how the fifth of 5 ranks gets into the sum.",
        {TREE: "2 * math.floor(math.log2(ranks)), levels * tensor_bytes"},
        variants=[{TREE: "2 * levels, math.floor(math.log2(ranks)) * tensor_bytes"}],
    ),
    Misconception(
        "tree_rounded_late",
        "You round twice the logarithm. The way up takes whole rounds, and so does the way down: round up first, then "
        "double.",
        {TREE: "math.ceil(2 * math.log2(ranks)), levels * tensor_bytes"},
        variants=[{TREE: "round(2 * math.log2(ranks)), levels * tensor_bytes"}],
    ),
    Misconception(
        "tree_up_and_down",
        "You count one tensor up the tree and one down. Rank 0 sends nothing on the way up, and one tensor in each "
        "round on the way down.",
        {TREE: "2 * levels, 2 * tensor_bytes"},
    ),
    Misconception(
        "tree_once_more",
        "You let the busiest rank send up the tree and in each round down. Rank 0 sends on the way down alone, and a "
        "rank that sends up once sends down less often.",
        {TREE: "2 * levels, (levels + 1) * tensor_bytes"},
    ),
    Misconception(
        "butterfly_both_ways",
        "You count a way back for the butterfly. After its last swap every rank has the sum already.",
        {BUTTERFLY: "size = 2 * levels, levels * tensor_bytes"},
    ),
    Misconception(
        "butterfly_one_by_one",
        "You count a round for each other rank. What a rank of the butterfly holds doubles in each round: 1, 2, 4, ...",
        {BUTTERFLY: "size = others, levels * tensor_bytes"},
    ),
    Misconception(
        "butterfly_once",
        "You count one tensor for a rank of the butterfly. It sends its whole tensor in each round.",
        {BUTTERFLY: "size = levels, tensor_bytes"},
    ),
    Misconception(
        "ring_one_way",
        "You count the first half of the ring. After N - 1 rounds a rank has one finished chunk, so look at how "
        "long the others need to reach it.",
        {RING: "others, 2 * others / ranks * tensor_bytes"},
    ),
    Misconception(
        "ring_counts_itself",
        "You let a chunk pass N ranks in each half. It begins on one of them, so it moves N - 1 times.",
        {RING: "2 * ranks, 2 * others / ranks * tensor_bytes"},
        variants=[{RING: "ranks, 2 * others / ranks * tensor_bytes"}],
    ),
    Misconception(
        "ring_not_chunked",
        "You let a rank of the ring send whole tensors. In a round it sends one chunk, the N-th part of the tensor.",
        {RING: "2 * others, 2 * others * tensor_bytes"},
        variants=[{RING: "2 * others, others * tensor_bytes"}],
    ),
    Misconception(
        "ring_half_bytes",
        "You let the chunks of the ring go round once. They go round twice: to be added up, and to reach all ranks.",
        {RING: "2 * others, others / ranks * tensor_bytes"},
    ),
    Misconception(
        "ring_limit",
        "You return two tensors, which is the limit for many ranks. Count the chunks that a rank of the ring sends.",
        {RING: "2 * others, 2 * tensor_bytes"},
    ),
    Misconception(
        "ring_bytes_rounded",
        "You round the bytes of the ring to whole ones. A chunk is 1 / N of the tensor, even where that is no whole "
        "number.",
        {RING: "2 * others, 2 * others * (tensor_bytes // ranks)"},
        variants=[
            {RING: "2 * others, 2 * others * -(-tensor_bytes // ranks)"},
            {RING: "2 * others, 2 * others * 4 * -(-tensor_bytes // (4 * ranks))"},
            {RING: "2 * others, 2 * others * tensor_bytes // ranks"},
            {RING: "2 * others, round(2 * others * tensor_bytes / ranks)"},
        ],
    ),
    run=_run,
    cases=cost_cases,
    is_near=within(relative=RELATIVE_TOLERANCE),
)
