"""Judges the costs of a model with experts."""

from __future__ import annotations

from typing import Any

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.mixture_of_experts.costs import CostCase, cost_cases, run_costs
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

NAMES = {
    "total": "parameters in total",
    "active": "parameters that one token meets",
    "bytes": "bytes of weights, gradients and AdamW's moments",
    "flops": "FLOPs of one token in an update",
}


def expert_costs(layers: int, every: int, width: int, hidden: int, experts: int, chosen: int) -> dict[str, int]:
    """Return the costs by name."""
    sparse = layers // every
    attention = 4 * width * width
    expert = 2 * width * hidden
    router = experts * width
    shared = layers * attention + (layers - sparse) * expert + sparse * router
    total = shared + sparse * experts * expert
    active = shared + sparse * chosen * expert
    return {"total": total, "active": active, "bytes": 16 * total, "flops": 6 * active}


def judge_expert_costs(observation: Observation, seed: int) -> Verdict:
    """Compare each number of each model; report the first kind that differs."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    for name, what in NAMES.items():
        part = answer.part(name)
        if part.is_right:
            continue
        case: CostCase = part.case
        model = f"{case.layers} blocks, groups of {case.every}, {case.chosen} of {case.experts} experts for a token"
        return TABLE.explain(
            answer,
            part,
            expected=f"{part.truth:,} {what} ({model})",
            measured=f"{part.value:,.10g}",
            otherwise="Take a model of one block with two experts, and write down every matrix that it has.",
        )
    return Verdict(PASSED, "", f"parameters, bytes and FLOPs of {len(answer.values)} models")


def is_near(answer: Any, value: Any) -> bool:
    """Return whether numbers agree to rounding, one or by name."""
    if isinstance(value, dict):
        return all(is_near(answer[name], value[name]) for name in value)
    return bool(abs(answer - value) <= 1e-9 * abs(value))


SPARSE = "sparse = layers // every"
SHARED = "shared = layers * attention + (layers - sparse) * expert + sparse * router"
TOTAL = "total = shared + sparse * experts * expert"
ACTIVE = "active = shared + sparse * chosen * expert"
BYTES, FLOPS = '"bytes": 16 * total', '"flops": 6 * active'

TABLE = ReferenceTable(
    expert_costs,
    Misconception(
        "experts_in_every_block",
        "You give every block experts. Only the last block of each full group has them; the others have one "
        "feed-forward part.",
        {SPARSE: "sparse = layers // 1"},
    ),
    Misconception(
        "at_least_one_block_with_experts",
        "You give a model experts although it has no full group of blocks.",
        {SPARSE: "sparse = max(1, layers // every)"},
    ),
    Misconception(
        "short_group_counted",
        "You give the last group experts although it is not full. Only the last block of a full group has them.",
        {SPARSE: "sparse = -(-layers // every)"},
    ),
    Misconception(
        "blocks_with_and_without_exchanged",
        "You give experts to the blocks that have none, and one feed-forward part to those that have them.",
        {SPARSE: "sparse = layers - layers // every"},
    ),
    Misconception(
        "dense_parts_forgotten",
        "You leave out the feed-forward parts of the blocks without experts.",
        {SHARED: "shared = layers * attention + sparse * router"},
    ),
    Misconception(
        "router_forgotten",
        "You leave out the router: a matrix [experts, width] in each block with experts, which every token meets.",
        {SHARED: "shared = layers * attention + (layers - sparse) * expert"},
    ),
    Misconception(
        "router_in_every_block",
        "You count a router in blocks that have no experts.",
        {SHARED: "shared = layers * attention + (layers - sparse) * expert + layers * router"},
    ),
    Misconception(
        "no_router_for_one_expert",
        "You leave out the router where there is one expert. By the contract, each block with experts has one.",
        {"router = experts * width": "router = experts * width if experts > 1 else 0"},
    ),
    Misconception(
        "router_of_the_chosen_in_total",
        "You count the router's rows of the chosen experts only. It has a row for each expert.",
        {"router = experts * width": "router = chosen * width"},
    ),
    Misconception(
        "attention_forgotten",
        "You leave out attention, which every block has, and every token meets.",
        {SHARED: "shared = (layers - sparse) * expert + sparse * router"},
    ),
    Misconception(
        "attention_multiplied",
        "You multiply attention by the number of experts. An expert is a feed-forward part, and attention is shared.",
        {TOTAL: "total = shared + sparse * experts * expert + sparse * (experts - 1) * attention"},
        variants=[
            {
                TOTAL: "total = shared + sparse * experts * expert + sparse * (experts - 1) * attention",
                ACTIVE: "active = shared + sparse * chosen * expert + sparse * (chosen - 1) * attention",
            }
        ],
    ),
    Misconception(
        "one_matrix_counted",
        "You count one matrix for a feed-forward part. It has two: up to the hidden width, and down again.",
        {"expert = 2 * width * hidden": "expert = width * hidden"},
    ),
    Misconception(
        "one_expert_active",
        "You let each token meet one expert, whatever the number that is chosen.",
        {ACTIVE: "active = shared + sparse * expert"},
    ),
    Misconception(
        "all_experts_active",
        "You let each token meet all experts. The router sends it to the chosen ones only.",
        {ACTIVE: "active = total"},
    ),
    Misconception(
        "share_of_the_whole_active",
        "You take the chosen share of all parameters. Attention, the router and the other blocks serve every token.",
        {ACTIVE: "active = total * chosen // experts"},
    ),
    Misconception(
        "groups_not_whole",
        "You count a fraction of a block with experts. Only the last block of a full group has them: divide by `//`.",
        {SPARSE: "sparse = layers / every"},
    ),
    Misconception(
        "dense_part_next_to_experts",
        "You count a feed-forward part next to the experts of a block. They take its place.",
        {SHARED: "shared = layers * attention + layers * expert + sparse * router"},
    ),
    Misconception(
        "one_router_for_all",
        "You count one router for the whole model. Each block with experts has its own.",
        {SHARED: "shared = layers * attention + (layers - sparse) * expert + router"},
    ),
    Misconception(
        "router_for_each_expert",
        "You count a router for each expert. One matrix [experts, width] serves all experts of a block.",
        {SHARED: "shared = layers * attention + (layers - sparse) * expert + sparse * experts * router"},
    ),
    Misconception(
        "router_of_the_chosen",
        "You let a token meet the router's rows of the chosen experts only. All rows are computed: the choice comes "
        "after them.",
        {ACTIVE: "active = shared + sparse * chosen * expert - sparse * (experts - chosen) * width"},
    ),
    Misconception(
        "three_matrices_counted",
        "You count three matrices for a feed-forward part, as gated ones have. Here it has two.",
        {"expert = 2 * width * hidden": "expert = 3 * width * hidden"},
    ),
    Misconception(
        "biases_counted",
        "You count biases. The model has matrices only.",
        {"expert = 2 * width * hidden": "expert = 2 * width * hidden + width + hidden"},
        variants=[{"attention = 4 * width * width": "attention = 4 * width * width + 4 * width"}],
    ),
    Misconception(
        "three_matrices_of_attention",
        "You count three matrices for attention. The output has one, too.",
        {"attention = 4 * width * width": "attention = 3 * width * width"},
        variants=[{"attention = 4 * width * width": "attention = width * width"}],
    ),
    Misconception(
        "total_and_active_exchanged",
        "You exchange the two numbers: `total` counts all experts, `active` the chosen ones.",
        {TOTAL: "total = shared + sparse * chosen * expert", ACTIVE: "active = shared + sparse * experts * expert"},
    ),
    Misconception(
        "memory_of_the_active",
        "You count memory for the active parameters. Other tokens of the batch go to the other experts, so the device "
        "has to hold all of them.",
        {BYTES: '"bytes": 16 * active'},
        variants=[
            {BYTES: '"bytes": 4 * total + 12 * active'},
            {BYTES: '"bytes": 8 * total + 8 * active'},
            {BYTES: '"bytes": 12 * total + 4 * active'},
        ],
    ),
    Misconception(
        "weights_alone",
        "You count 4 bytes for each parameter: its weight. Training also holds a gradient and two moments.",
        {BYTES: '"bytes": 4 * total'},
    ),
    Misconception(
        "part_of_the_state_forgotten",
        "You leave out some of the four numbers that AdamW's training holds for each parameter in float32.",
        {BYTES: '"bytes": 12 * total'},
        variants=[{BYTES: '"bytes": 8 * total'}],
    ),
    Misconception(
        "bytes_of_mixed_precision",
        "You count bytes of 16-bit numbers. Weights, gradients and moments are float32 here, 4 bytes each.",
        {BYTES: '"bytes": 18 * total'},
        variants=[{BYTES: f'"bytes": {count} * total'} for count in (2, 6, 14, 20)],
    ),
    Misconception(
        "bytes_in_another_unit",
        "You return a multiple of bytes. Return bytes.",
        {BYTES: '"bytes": 16 * total / 2**30'},
        variants=[{BYTES: '"bytes": 16 * total / 2**20'}, {BYTES: '"bytes": 16 * total / 10**9'}],
    ),
    Misconception(
        "forward_counted_twice",
        "You count a second forward pass, as checkpointing runs one. This update has one.",
        {FLOPS: '"flops": 8 * active'},
    ),
    Misconception(
        "flops_of_all_experts",
        "You count the products of all parameters. Forward and backward, a token is multiplied only by the weights "
        "that it meets.",
        {FLOPS: '"flops": 6 * total'},
        variants=[{FLOPS: '"flops": 2 * active + 4 * total'}, {FLOPS: '"flops": 2 * total + 4 * active'}],
    ),
    Misconception(
        "backward_forgotten",
        "You count the forward pass only. The backward pass has two products for each of its products.",
        {FLOPS: '"flops": 2 * active'},
    ),
    Misconception(
        "multiply_add_counted_once",
        "You count one FLOP where a weight is multiplied and the product is added. These are two.",
        {FLOPS: '"flops": 3 * active'},
        variants=[{FLOPS: '"flops": active'}],
    ),
    Misconception(
        "backward_counted_once",
        "You count as many products in the backward pass as in the forward pass. A weight has a second one there: its "
        "own gradient.",
        {FLOPS: '"flops": 4 * active'},
    ),
    hard_coded(lambda seed: (cost_cases(seed)[0],) * len(cost_cases(seed))),
    run=run_costs,
    cases=cost_cases,
    is_near=is_near,
)
