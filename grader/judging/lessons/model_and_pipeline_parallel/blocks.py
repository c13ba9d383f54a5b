"""Judges a block that ranks share: equal to the whole one, held in shares, with one all-reduce in each direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.lessons.model_and_pipeline_parallel.reports import Facts, facts_of, tensors_of
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.model_and_pipeline_parallel.blocks import PARTS, BlockCase, block_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

NUMBER_BYTES = 4  # float32
Values = dict[str, list[Tensor]]  # by name, for each rank
NAMES = (
    {f"held {part}": f"the share of {part}" for part in PARTS[:3]}
    | {"held down.bias": "down.bias"}
    | {"output": "the output", "input": "the gradient of the input"}
    | {part: f"the gradient of {part}" for part in PARTS}
)


def split_block(case: BlockCase) -> Values:
    """Compute what every rank of a split block returns and accumulates, in one process."""
    up, activation, down = case.make_block()
    hidden, gradient = case.make_tensors()
    partials, found, held = [], [], []
    for rank in range(case.world_size):
        parts = [tensor.tensor_split(case.world_size)[rank] for tensor in (up.weight, up.bias)]  # type: ignore[operator]
        parts.append(down.weight.tensor_split(case.world_size, dim=1)[rank])  # type: ignore[operator]
        held.append(parts)
        leaves = [one.detach().requires_grad_() for one in (hidden, *parts)]
        partial = F.linear(activation(F.linear(*leaves[:3])), leaves[3])
        partials.append(partial.detach())
        found.append(torch.autograd.grad(partial, leaves, gradient))
    values: Values = {name: [] for name in NAMES}
    for rank in range(case.world_size):
        for number, name in enumerate(PARTS[:3]):
            values[f"held {name}"].append(held[rank][number].detach())
        values["held down.bias"].append(down.bias.detach())  # type: ignore[operator]
        total = torch.stack(partials).sum(0)
        values["output"].append((total + down.bias).detach())  # type: ignore[operator]
        values["input"].append(torch.stack([one[0] for one in found]).sum(0))
        for number, name in enumerate(PARTS[:3], start=1):
            values[name].append(found[rank][number])
        values["down.bias"].append(gradient.flatten(0, -2).sum(0))
    return values


def judge_split_values(observation: Observation, seed: int) -> Verdict:
    """Compare output and gradients of every rank with the whole block."""
    cases = block_cases(seed)
    blocks = _blocks_of(observation, cases)
    verdict = next(filter(None, map(_judge_shapes, blocks)), None)
    if verdict:
        return verdict
    tensors = [
        {name: tensors_of(observation, number, case.world_size, name) for name in NAMES}
        for number, case in enumerate(cases)
    ]
    answer = TABLE.answer(seed, tensors)
    for name in NAMES:
        part = answer.part(name)
        if part.is_right:
            continue
        cut = next(filter(None, map(CUT.judge, blocks)), None)
        if cut and name != "output":
            return cut
        expected = f"{NAMES[name]} of the whole block, on {part.case.world_size} ranks"
        rank = next(n for n, pair in enumerate(zip(part.value, part.truth, strict=True)) if not near(*pair))
        off = float((part.value[rank] - part.truth[rank]).abs().max())
        measured = f"up to {off:.3g} away from it on rank {rank}"
        return TABLE.explain(answer, part, expected=expected, measured=measured, otherwise=OTHER_GRADIENT)
    return Verdict(PASSED, "", f"{len(cases)} blocks on 2 and 3 ranks: output and five gradients of the whole block")


def judge_split_share(observation: Observation, seed: int) -> Verdict:
    """Judge what each rank holds, computes with and sends."""
    for block in _blocks_of(observation, block_cases(seed)):
        verdict = _judge_shapes(block) or SHARE.judge(block)
        if verdict:
            return verdict
    held = f"{format_bytes(block.held)} of {format_bytes(block.whole)} on each of {block.case.world_size} ranks"
    return Verdict(PASSED, "", f"{held}, one all-reduce in each direction")


@dataclass(frozen=True)
class Block:
    """What the ranks reported of one block.

    Attributes:
        case: The setting.
        ranks: What each rank reported.
    """

    case: BlockCase
    ranks: Sequence[Facts]

    @property
    def size(self) -> int:
        """How many ranks."""
        return self.case.world_size

    def shares(self, ranks: int) -> list[int]:
        """Return how many inner features each rank has, by `tensor_split`."""
        return [len(one) for one in torch.arange(self.case.inner).tensor_split(ranks)]

    def shapes_of(self, share: int) -> dict[str, list[int]]:
        """Return the shapes of a rank that has some of the inner features."""
        width = self.case.width
        return dict(zip(PARTS, ([share, width], [share], [width, share], [width]), strict=True))

    @cached_property
    def shapes(self) -> list[dict[str, list[int]]]:
        """The shapes that the ranks reported."""
        return [dict(facts["shapes"]) for facts in self.ranks]

    @property
    def held(self) -> int:
        """The most bytes that a rank should hold."""
        width, share = self.case.width, max(self.shares(self.size))
        return NUMBER_BYTES * (share * (2 * width + 1) + width)

    @property
    def whole(self) -> int:
        """The bytes of the whole block."""
        return NUMBER_BYTES * (self.case.inner * (2 * self.case.width + 1) + self.case.width)

    @property
    def tensor_bytes(self) -> int:
        """The bytes of the input, which are those of the output."""
        return self.case.make_tensors()[0].nbytes

    @property
    def bytes(self) -> list[int]:
        """The bytes of the storages that each rank holds."""
        return [int(facts["bytes"]) for facts in self.ranks]

    @property
    def own(self) -> list[int]:
        """The bytes of the tensors that each rank holds."""
        return [int(facts["own"]) for facts in self.ranks]

    @property
    def largest(self) -> int:
        """Elements of the largest tensor that a rank computed with."""
        return max(int(facts["largest"]) for facts in self.ranks)

    def calls(self, direction: str) -> list[list[list[object]]]:
        """Return the collectives of each rank in one direction, by name and bytes."""
        return [[list(call) for call in facts[direction]] for facts in self.ranks]

    def say_calls(self, direction: str) -> str:
        """Describe the collectives of rank 0."""
        return ", ".join(f"{name} of {size} bytes" for name, size in self.calls(direction)[0]) or "none"

    @property
    def forward(self) -> str:
        """The collectives of forward, to be read."""
        return self.say_calls("forward")

    @property
    def backward(self) -> str:
        """The collectives of backward, to be read."""
        return self.say_calls("backward")

    def has_one(self, direction: str) -> bool:
        """Return whether every rank made one all-reduce of the input's size, and nothing else."""
        return all(calls == [["all_reduce", self.tensor_bytes]] for calls in self.calls(direction))

    def has_other(self) -> bool:
        """Return whether a rank made other collectives."""
        directions = ("building", "forward", "backward")
        return any(name != "all_reduce" for one in directions for calls in self.calls(one) for name, _ in calls)

    def has_cut(self) -> bool:
        """Return whether some parameter got no gradient."""
        return any(facts["without_gradient"] for facts in self.ranks)

    def has_cut_bias(self) -> bool:
        """Return whether the second bias alone got no gradient."""
        return {name for facts in self.ranks for name in facts["without_gradient"]} == {"down.bias"}


def _blocks_of(observation: Observation, cases: Sequence[BlockCase]) -> list[Block]:
    return [Block(case, facts_of(observation, number, case.world_size)) for number, case in enumerate(cases)]


def _judge_shapes(block: Block) -> Verdict | None:
    wanted = [block.shapes_of(share) for share in block.shares(block.size)]
    if block.shapes == wanted:
        return None
    rank = next(rank for rank, shapes in enumerate(block.shapes) if shapes != wanted[rank])
    part = next(part for part in PARTS if block.shapes[rank][part] != wanted[rank][part])
    expected = f"{part} of shape {wanted[rank][part]} on rank {rank} of {block.size}"
    measured = f"shape {block.shapes[rank][part]}"
    return SHAPES.explain(block, expected=expected, measured=measured, otherwise=OTHER_SHAPES)


def _has_whole(block: Block) -> bool:
    whole = block.shapes_of(block.case.inner)
    return any(all(shapes[part] == whole[part] for shapes in block.shapes) for part in PARTS[:3])


def _is_of_other_sizes(block: Block) -> bool:
    sizes = [shapes["up.bias"][0] for shapes in block.shapes]
    return sum(sizes) == block.case.inner and sizes != block.shares(block.size)


def _is_floor(block: Block) -> bool:
    each, rest = divmod(block.case.inner, block.size)
    return rest > 0 and all(shapes["up.bias"] == [each] for shapes in block.shapes)


def _is_cut_across(block: Block) -> bool:
    return any(shapes["up.weight"][1:] + shapes["down.weight"][:1] != 2 * [block.case.width] for shapes in block.shapes)


def _is_transposed(block: Block) -> bool:
    wanted = [block.shapes_of(share) for share in block.shares(block.size)]
    pairs = [(one[name], right[name][::-1]) for one, right in zip(block.shapes, wanted, strict=True) for name in PARTS]
    return any(one == right != right[::-1] for one, right in pairs)


def _is_held(answer: Answer) -> bool:
    return str(answer.key).startswith("held")


near = within(relative=1e-4, absolute=2e-5)  # float32 sums of up to 50 products, in another order
OTHER_GRADIENT = (
    "You return the output of the whole block, but get another gradient. Write down for two ranks which gradient each "
    "has behind the sum, and which at the block's input."
)
OTHER_SHAPES = (
    "You give a rank another share than `tensor_split`: some rows of `up` and the same columns of `down`, one more on "
    "the first ranks where the ranks do not divide them."
)
TOTAL = "total = torch.stack(partials).sum(0)"
OUTPUT = "(total + down.bias).detach()"
INPUT = "torch.stack([one[0] for one in found]).sum(0)"
OF_PARTS = "values[name].append(found[rank][number])"
OF_BIAS = "gradient.flatten(0, -2).sum(0)"
HELD_BIAS = '["held down.bias"].append(down.bias.detach())'
TABLE = ReferenceTable(
    split_block,
    Misconception(
        "partials_not_summed",
        "You return each rank's own part of the sum. After the second layer every rank has a part of every output: "
        "all-reduce them.",
        {TOTAL: "total = partials[rank]"},
        variants=[
            {TOTAL: "total = partials[rank]", INPUT: "found[rank][0]"},
            {TOTAL: "total = partials[rank]", INPUT: "case.world_size * " + INPUT},
        ],
    ),
    Misconception(
        "boundaries_exchanged",
        "You exchange the two boundaries. At the input, forward changes nothing and backward sums the gradient; at the "
        "output, forward sums and backward changes nothing.",
        {
            "in (hidden, *parts)": "in (case.world_size * hidden, *parts)",
            "(partial, leaves, gradient)": "(partial, leaves, case.world_size * gradient)",
            TOTAL: "total = partials[rank]",
            INPUT: "found[rank][0]",
        },
    ),
    Misconception(
        "activation_fixed",
        "You apply GELU to every block. Another block has another activation: call the one that you are given.",
        {"up, activation, down = case.make_block()": "up, _, down = case.make_block()", "activation(F.l": "F.gelu(F.l"},
    ),
    Misconception(
        "partials_averaged",
        "You average the parts. Each one is a part of a sum over inner features, so they add up.",
        {TOTAL: "total = torch.stack(partials).mean(0)"},
    ),
    Misconception(
        "bias_on_every_rank",
        "You add the second bias on every rank before the sum, so it counts once for each rank. Add it after the sum.",
        {OUTPUT: "(total + case.world_size * down.bias).detach()"},
    ),
    Misconception(
        "bias_left_out",
        "You leave out the second bias. It is added once, after the sum.",
        {OUTPUT: "total.detach()"},
        variants=[{OUTPUT: "total.detach()", OF_BIAS: "0 * gradient.flatten(0, -2).sum(0)"}],
    ),
    Misconception(
        "bias_not_held_whole",
        "You hold a share of the second bias, or hold it on one rank only, and add it before the sum. Each rank gets "
        "its whole gradient, so an update moves the sum N times too far: hold it whole, and add it after the sum.",
        {HELD_BIAS: HELD_BIAS.replace("bias.detach()", "bias.detach() / case.world_size")},
        variants=[{HELD_BIAS: HELD_BIAS.replace("bias.detach()", "bias.detach() * (rank == 0)")}],
    ),
    Misconception(
        "bias_divided",
        "You add a share of the second bias. It is added whole, once, after the sum.",
        {OUTPUT: "(total + down.bias / case.world_size).detach()"},
        variants=[
            {
                OUTPUT: "(total + down.bias / case.world_size).detach()",
                OF_BIAS: "gradient.flatten(0, -2).sum(0) / case.world_size",
            }
        ],
    ),
    Misconception(
        "same_share_on_every_rank",
        "You give every rank the share of rank 0. Take the share that has the rank's number.",
        {
            "(case.world_size)[rank] for": "(case.world_size)[0] for",
            "dim=1)[rank]": "dim=1)[0]",
        },
    ),
    Misconception(
        "all_reduce_missing_in_backward",
        "You leave each rank with its own part of the gradient of the input. All ranks read the input, so their "
        "gradients of it add up: all-reduce them in backward.",
        {INPUT: "found[rank][0]"},
    ),
    Misconception(
        "input_summed_twice",
        "You all-reduce the gradient of the input twice, so it is too large by the number of ranks. Once is enough.",
        {INPUT: "case.world_size * " + INPUT},
    ),
    Misconception(
        "gradient_summed_behind_the_sum",
        "You all-reduce in backward where forward adds up the parts. Every rank has that gradient whole already, so "
        "all gradients before it become too large by the number of ranks. Pass it on as it is.",
        {INPUT: "case.world_size * " + INPUT, OF_PARTS: "values[name].append(case.world_size * found[rank][number])"},
        variants=[
            {
                INPUT: "case.world_size * found[rank][0]",
                OF_PARTS: "values[name].append(case.world_size * found[rank][number])",
            }
        ],
    ),
    Misconception(
        "gradient_averaged",
        "You average the gradient of the input over the ranks. Each rank has a part of a sum, so they add up.",
        {INPUT: "torch.stack([one[0] for one in found]).mean(0)"},
    ),
    Misconception(
        "bias_gradient_shared_out",
        "You leave a share of the gradient in the second bias. It is held whole on every rank, so each has the whole "
        "gradient: add the bias after the sum.",
        {OF_BIAS: "gradient.flatten(0, -2).sum(0) / case.world_size"},
        variants=[{OF_BIAS: "gradient.flatten(0, -2).sum(0) * (rank == 0)"}],
    ),
    Misconception(
        "input_cut_off",
        "You cut the graph at the input, so that it gets no gradient. Apply the boundary to the input as it is.",
        {INPUT: "torch.zeros_like(hidden)"},
    ),
    Misconception(
        "other_features_held",
        "You hold the right number of inner features, but others than `tensor_split` gives to this rank, or in another "
        "order. Rows of `up` and columns of `down` with the rank's number belong together.",
        shown_by=lambda answer: (
            _is_held(answer)
            and all(bool(torch.isin(one, torch.cat([*map(torch.flatten, answer.truth)])).all()) for one in answer.value)
        ),
    ),
    Misconception(
        "not_copied",
        "You hold numbers that are not in the whole block, such as zeros or those of a new layer. Copy the rank's "
        "share of each weight and of the first bias, and the whole second bias.",
        shown_by=_is_held,
    ),
    Misconception(
        "output_differs_between_ranks",
        "You return another output on some rank than on rank 0. Every rank needs the whole sum, and does the same with "
        "it.",
        shown_by=lambda answer: answer.key == "output" and not all(near(one, answer.value[0]) for one in answer.value),
    ),
    Misconception(
        "same_wrong_output",
        "You return one output on all ranks, but not that of the whole block. A rank's part is `down.weight` times the "
        "activation of `up`; only the second bias follows the sum.",
        shown_by=lambda answer: answer.key == "output",
    ),
    run=lambda split_block, case: split_block(case),
    cases=block_cases,
    is_near=near,
)

SHAPES: Table[Block] = Table(
    Misconception(
        "stored_transposed",
        "You store the weight of a layer transposed. A linear layer has [outputs, inputs].",
        shown_by=_is_transposed,
    ),
    Misconception(
        "cut_along_the_other_dimension",
        "You cut a layer along the other dimension. Cut `up` along its outputs, the rows of its weight, because the "
        "activation needs whole sums, and `down` along its inputs: a rank has only its own inner features.",
        shown_by=_is_cut_across,
    ),
    Misconception(
        "whole_on_every_rank",
        "You keep this part whole on every rank. Each rank holds some rows of `up`, with their biases, and the same "
        "columns of `down`.",
        shown_by=_has_whole,
    ),
    Misconception(
        "rest_left_out",
        "You leave out the inner features that do not divide evenly. Use `tensor_split`, which shares out all of them.",
        shown_by=_is_floor,
    ),
    Misconception(
        "shares_of_other_sizes",
        "You share out all inner features, but in other sizes than `tensor_split`, as with `chunk`, or with the rest "
        "on the last rank. The first ranks have one more each.",
        shown_by=_is_of_other_sizes,
    ),
)
CUT: Table[Block] = Table(
    Misconception(
        "bias_cut_off",
        "You leave the second bias without a gradient: it is detached, or added on one rank only. Every rank adds it, "
        "after the sum.",
        shown_by=Block.has_cut_bias,
        expected="a gradient in `down.bias` on every rank",
        measured="none on some rank",
    ),
    Misconception(
        "gradient_cut_off",
        "You cut the graph, so that some parameters get no gradient. Autograd does not record dist.all_reduce, and "
        "detach() hides what it is applied to: use at_boundary.",
        shown_by=Block.has_cut,
        expected="a gradient in every parameter",
        measured="parameters without one",
    ),
)
SHARE: Table[Block] = Table(
    Misconception(
        "whole_block_kept",
        "You keep the whole block alive next to the shares. Copy what you need of it, and keep no reference to it.",
        shown_by=lambda block: any(facts["whole_kept"] for facts in block.ranks),
        expected="the whole block to be freed",
        measured="its parameters still held",
    ),
    Misconception(
        "more_than_a_share_held",
        "You hold more than a share of the weights and the bias of `down`: other tensors, too, or numbers of another "
        "format than float32.",
        shown_by=lambda block: any(own > block.held for own in block.own),
        expected="tensors of at most {held} bytes on a rank",
        measured="{own} bytes on the ranks",
    ),
    Misconception(
        "view_of_the_whole",
        "You keep views of the whole weights, and a view keeps its whole storage in memory. Copy the share.",
        shown_by=lambda block: any(held > block.held for held in block.bytes),
        expected="storages of at most {held} bytes on a rank",
        measured="{bytes} bytes on the ranks",
    ),
    Misconception(
        "other_collectives",
        "You use other collectives than an all-reduce. Cut so that neither weights nor inner features have to be "
        "collected.",
        shown_by=Block.has_other,
        expected="all-reduces only",
        measured="forward: {forward}; backward: {backward}",
    ),
    Misconception(
        "not_one_all_reduce",
        "You make another number of all-reduces, or of another size. In forward, sum the parts of the output behind "
        "the second layer; in backward, the gradient of the input.",
        shown_by=lambda block: not all(map(block.has_one, ("forward", "backward"))),
        expected="one all-reduce of {tensor_bytes} bytes in each direction",
        measured="forward: {forward}; backward: {backward}",
    ),
    Misconception(
        "computed_with_the_whole",
        "You compute with tensors as large as a whole weight. Each rank multiplies by its own share only.",
        shown_by=lambda block: NUMBER_BYTES * block.largest > block.held,
        expected="tensors no larger than a share of the weights",
        measured="one of {largest} elements",
    ),
)
