"""Judges the FLOPs of a training step; a test compares the reference with PyTorch's counter."""

from __future__ import annotations

from collections.abc import Callable

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.where_time_goes.steps import StepCase, step_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

StepFlops = Callable[..., float]


def step_flops(
    layers: int, width: int, heads: int, vocabulary: int, batch: int, time: int, is_checkpointed: bool
) -> float:
    """Return the FLOPs of all contractions of one training step."""
    tokens = batch * time
    weights = 12 * width**2
    attention = 4 * time * width
    head = 2 * vocabulary * width
    blocks = tokens * layers * (2 * weights + attention)
    again = blocks if is_checkpointed else 0
    return 3 * (blocks + tokens * head) + again


def judge_step_flops(observation: Observation, seed: int) -> Verdict:
    """Compare the FLOPs of three steps."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"the FLOPs of {len(answer.values)} steps right")
    case: StepCase = answer.case
    place = f"{case.layers} layers, width {case.width}, {case.heads} heads, vocabulary {case.vocabulary}"
    place += f", {case.batch} x {case.time} tokens" + (", checkpointed" if case.is_checkpointed else "")
    expected = f"{answer.truth:,.0f} FLOPs ({place})"
    measured = f"{answer.value:,.15g}, {answer.value / answer.truth:.4g} times that"
    return TABLE.explain(answer, expected=expected, measured=measured, otherwise=OTHERWISE)


def _run(step_flops: StepFlops, case: StepCase) -> float:
    return step_flops(*case.arguments)


def _ratios(answer: Answer) -> list[float]:
    """Return how many times the right FLOPs each step got, rounded: two plain steps, and a checkpointed one."""
    truths = answer.table.truths(answer.seed)
    return [round(value / truth, 6) for value, truth in zip(answer.values, truths, strict=True)]


OTHERWISE = "You differ in some part of the count. Print the FLOPs of all blocks and of the head, forward alone."
WEIGHTS = "12 * width**2"
ATTENTION = "4 * time * width"
HEAD = "2 * vocabulary * width"
AGAIN = "blocks if is_checkpointed else 0"
STEP = "3 * (blocks + tokens * head) + again"

TABLE = ReferenceTable(
    step_flops,
    Misconception(
        "multiply_adds_counted_once",
        "You count a multiplication and an addition as one operation. A FLOP is either of them, so each pair is two.",
        {STEP: f"({STEP}) / 2"},
    ),
    Misconception(
        "forward_only",
        "You count the forward pass alone. Backward needs two products for each of forward's: one for the gradient "
        "of each factor.",
        {STEP: "blocks + tokens * head + again"},
        variants=[{STEP: "blocks + tokens * head"}],
    ),
    Misconception(
        "backward_as_long_as_forward",
        "You count two passes' worth. Backward alone needs twice the FLOPs of forward, so the step needs three.",
        {STEP: "2 * (blocks + tokens * head) + again"},
    ),
    Misconception(
        "six_times_parameters",
        "You use 6 FLOPs for each parameter and token, and nothing else. The products of attention hold no "
        "parameters, the lookup of an embedding computes nothing, and a checkpointed block runs once more.",
        {ATTENTION: "0", AGAIN: "0"},
        variants=[
            {ATTENTION: "0", AGAIN: "0", HEAD: "4 * vocabulary * width"},
            {ATTENTION: "0", AGAIN: "0", WEIGHTS: "12 * width**2 + 13 * width"},
            {
                ATTENTION: "0",
                AGAIN: "0",
                WEIGHTS: "12 * width**2 + 13 * width",
                HEAD: "2 * (vocabulary + vocabulary + time + 2) * width",
            },
        ],
    ),
    Misconception(
        "attention_forgotten",
        "You count the products with weights alone. Queries with keys, and probabilities with values, are products, "
        "too, and they grow with the square of the time.",
        {ATTENTION: "0"},
        variants=[{ATTENTION: "0", AGAIN: "blocks + tokens * head if is_checkpointed else 0"}],
    ),
    Misconception(
        "attention_linear_in_time",
        "You count attention once for each position. Each position has a score for every other one, so the time is "
        "squared.",
        {ATTENTION: "4 * width"},
    ),
    Misconception(
        "half_of_attention",
        "You count half of attention: one of its two products, or the causal half of both. "
        "The counter takes the whole square of each.",
        {ATTENTION: "2 * time * width"},
    ),
    Misconception(
        "attention_per_head_at_full_width",
        "You multiply or divide attention by its heads. Each head works on width / heads features, so all of them "
        "together compute as much as one of full width.",
        {ATTENTION: "4 * time * width * heads"},
        variants=[{ATTENTION: "4 * time * width // heads"}],
    ),
    Misconception(
        "time_squared_for_each_token",
        "You use the square of the time for each token, and multiply by the tokens again. One token has `time` scores.",
        {ATTENTION: "4 * time**2 * width"},
    ),
    Misconception(
        "head_forgotten",
        "You leave out the head, which multiplies every position with the whole vocabulary.",
        {HEAD: "0"},
        variants=[{HEAD: "0", AGAIN: "0"}],
    ),
    Misconception(
        "products_of_attention_backward",
        "You count another number of products than four in attention's backward pass: two for each of forward's two. "
        "The fifth of a fused kernel repeats one of forward's.",
        {STEP: f"{STEP} + tokens * layers * attention / 2"},
        variants=[{STEP: f"{STEP} - tokens * layers * attention * {passes}"} for passes in (1, 2)],
    ),
    Misconception(
        "lookup_counted",
        "You count the embedding as a product. It is a lookup: it copies rows and computes nothing.",
        {HEAD: "4 * vocabulary * width"},
    ),
    Misconception(
        "weights_of_a_block_miscounted",
        "You miss a weight of the block, or add one. In squares of the width it holds 3 for queries, keys and values, "
        "1 for the output, and 4 for each of the two layers of the feed-forward network.",
        {WEIGHTS: "8 * width**2"},
        variants=[{WEIGHTS: f"{count} * width**2"} for count in (5, 6, 9, 10, 11, 13, 16)],
    ),
    Misconception(
        "one_sequence_counted",
        "You count one sequence, or one position. Multiply by `batch` and by `time`.",
        {"batch * time": "time"},
        variants=[{"batch * time": "batch"}, {"batch * time": "1", AGAIN: "0"}],
    ),
    Misconception(
        "checkpointing_ignored",
        "You count a checkpointed step like a plain one. Each block runs forward once more before its backward pass.",
        {AGAIN: "0"},
    ),
    Misconception(
        "head_repeated",
        "You repeat the whole forward pass under checkpointing. The head is not in a block, so it runs once.",
        {AGAIN: "blocks + tokens * head if is_checkpointed else 0"},
    ),
    Misconception(
        "part_of_a_block_repeated",
        "You repeat a part of each block only. PyTorch may stop early, but the contract repeats the whole forward "
        "pass, with attention and the last layer.",
        {AGAIN: "tokens * layers * 2 * weights if is_checkpointed else 0"},
        variants=[{AGAIN: "tokens * layers * (4 / 3 * weights + attention) if is_checkpointed else 0"}],
    ),
    Misconception(
        "visible_case_hard_coded",
        "You return the FLOPs of the model in the notebook, whatever the arguments are. "
        "Use what your function receives.",
        {f"return {STEP}": "return 264_241_152"},
    ),
    Misconception(
        "checkpointed_step_alone",
        "You are right for plain steps, and wrong for the checkpointed one. Each block's forward pass runs once more "
        "there: no more, no less, and nothing else.",
        shown_by=lambda answer: _ratios(answer)[:2] == [1, 1],
    ),
    Misconception(
        "passes_miscounted",
        "You are wrong by the same factor for all plain steps. Return FLOPs: two for each term of a product, which "
        "runs once forward and twice backward.",
        shown_by=lambda answer: _ratios(answer)[0] == _ratios(answer)[1],
    ),
    Misconception(
        "more_than_the_products",
        "You count more than the products of a plain step. Leave out optimizer, softmax, biases and lookups, and look "
        "for a product that is too large, comes too often, or is repeated without checkpointing.",
        shown_by=lambda answer: min(_ratios(answer)[:2]) >= 1,
    ),
    Misconception(
        "less_than_the_products",
        "You count less than the products of a plain step: some are missing, too small, or do not run three times. "
        "Go through all blocks, their weights and attention, and the head: once forward, twice backward.",
        shown_by=lambda answer: max(_ratios(answer)[:2]) <= 1,
    ),
    Misconception(
        "product_of_another_size",
        "You count too much for one plain step and too little for another, so a size is exchanged. Look at where you "
        "write `width`, `time` and `vocabulary`.",
        shown_by=lambda answer: min(_ratios(answer)[:2]) < 1 < max(_ratios(answer)[:2]),
    ),
    run=_run,
    cases=step_cases,
    is_near=within(relative=1e-6),
)
