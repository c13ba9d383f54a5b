"""The sizes in a chain's update, right ones and wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from grader.lessons.where_memory_goes.step_peak import ChainStep

FLOAT32_BYTES = 4

Counts = Mapping[str, int]  # how often each size enters a sum
Sizes = dict[str, float]  # elements of each size

# How often each size is held at the two moments that may be the peak.
BACKWARD: Counts = {
    "model": 3,  # parameters and two moments
    "counters": 1,
    "input": 1,
    "activations": 1,
    "hidden_rows": 1,  # of the last linear layer: the gradients of its input, its weight, its bias
    "weight": 1,
    "width": 1,
    "number": 2,  # the loss and its gradient
}
UPDATE: Counts = {"model": 4, "counters": 1, "input": 1, "weight": 2, "hidden": 1}  # gradients, and no activations


def sizes_of(case: ChainStep) -> Sizes:
    """Return the elements of every size in a chain."""
    return {
        "model": case.blocks * (2 * case.width * case.hidden + case.width + case.hidden),
        "counters": 4 * case.blocks,
        "blocks": case.blocks,
        "input": case.batch * case.width,
        "activations": case.blocks * case.batch * (2 * case.hidden + case.width),
        "hidden_rows": case.batch * case.hidden,
        "weight": case.width * case.hidden,
        "width": case.width,
        "hidden": case.hidden,
        "number": 1,
    }


def bytes_of(counts: Counts, case: ChainStep) -> float:
    """Return the bytes of a sum of sizes."""
    sizes = sizes_of(case)
    return FLOAT32_BYTES * sum(count * sizes[name] for name, count in counts.items())


@dataclass(frozen=True)
class OtherSizes:
    """Sizes that are computed wrongly.

    Attributes:
        code: The misconception.
        says: What is computed, in words.
        look_at: The diagnosis, and where to look.
        sizes: The sizes of a case.
    """

    code: str
    says: str
    look_at: str
    sizes: Callable[[ChainStep], Sizes]


RIGHT = OtherSizes("", "", "", sizes_of)

_ONE_BIAS = "You count one bias for each block. It has two, of `h` and of `w` numbers."
_FOUR_WIDTHS = "You take `hidden` to be four times `width`, as in the lesson's chain. Use the argument `hidden`."


def _model(code: str, says: str, look_at: str, of_block: Callable[[ChainStep], int]) -> OtherSizes:
    return OtherSizes(code, says, look_at, lambda c: sizes_of(c) | {"model": c.blocks * of_block(c)})


def _activations(code: str, says: str, look_at: str, elements: Callable[[ChainStep], float]) -> OtherSizes:
    return OtherSizes(code, says, look_at, lambda c: sizes_of(c) | {"activations": elements(c)})


def _argument(code: str, says: str, look_at: str, change: Callable[[ChainStep], ChainStep]) -> OtherSizes:
    return OtherSizes(code, says, look_at, lambda c: sizes_of(change(c)))


def _for_every_block(c: ChainStep) -> Sizes:
    names = ("hidden_rows", "weight", "width", "hidden")
    return sizes_of(c) | {name: c.blocks * sizes_of(c)[name] for name in names}


WRONG_SIZES: tuple[OtherSizes, ...] = (
    _model(
        "biases_forgotten",
        "without the biases",
        "You leave out the biases. A block has one of `h` and one of `w` numbers.",
        lambda c: 2 * c.width * c.hidden,
    ),
    _model("one_bias_forgotten", "with one bias of a block", _ONE_BIAS, lambda c: 2 * c.width * c.hidden + c.hidden),
    _model("one_bias_forgotten", "with one bias of a block", _ONE_BIAS, lambda c: 2 * c.width * c.hidden + c.width),
    _model(
        "one_weight_forgotten",
        "with one weight of a block",
        "You count one weight for each block. It has two, of `w * h` numbers each.",
        lambda c: c.width * c.hidden + c.width + c.hidden,
    ),
    OtherSizes(
        "parameters_of_one_block",
        "with the parameters of one block",
        "You count the parameters of one block. Multiply them by `blocks`.",
        lambda c: sizes_of(c) | {"model": sizes_of(c)["model"] / c.blocks},
    ),
    _activations(
        "gelu_input_forgotten",
        "with one tensor [batch, hidden] for a block",
        "You count one tensor [batch, hidden] for each block. GELU keeps its input for its slope, and "
        "the next layer keeps GELU's output.",
        lambda c: c.blocks * c.batch * (c.hidden + c.width),
    ),
    _activations(
        "block_outputs_forgotten",
        "with only the tensors [batch, hidden] of a block",
        "You leave out the outputs of the blocks, `batch * w` numbers each.",
        lambda c: c.blocks * c.batch * 2 * c.hidden,
    ),
    _activations(
        "block_outputs_only",
        "with only the output of a block",
        "You count only the outputs of the blocks. Count the two tensors [batch, hidden] in each block as well.",
        lambda c: c.blocks * c.batch * c.width,
    ),
    _activations(
        "block_inputs_counted_too",
        "with input and output of every block",
        "You count a block's input and its output. The input is the output of the block before, which is "
        "counted already.",
        lambda c: c.blocks * c.batch * 2 * (c.hidden + c.width),
    ),
    _activations(
        "activations_of_one_block",
        "with the activations of one block",
        "You count the activations of one block. Multiply them by `blocks`.",
        lambda c: c.batch * (2 * c.hidden + c.width),
    ),
    _activations(
        "activations_of_one_row",
        "with the activations of one row",
        "You count the activations of one row. Multiply them by `batch`.",
        lambda c: c.blocks * (2 * c.hidden + c.width),
    ),
    _activations(
        "activations_in_elements",
        "with activations of one byte a number",
        "You count one byte for each number of the activations. A float32 number takes 4.",
        lambda c: c.blocks * c.batch * (2 * c.hidden + c.width) / FLOAT32_BYTES,
    ),
    _activations(
        "blocks_miscounted",
        "with the activations of one block less",
        "You count the activations of one block too many or too few. Each of the `blocks` blocks keeps three tensors.",
        lambda c: (c.blocks - 1) * c.batch * (2 * c.hidden + c.width),
    ),
    _activations(
        "blocks_miscounted",
        "with the activations of one block more",
        "You count the activations of one block too many or too few. Each of the `blocks` blocks keeps three tensors.",
        lambda c: (c.blocks + 1) * c.batch * (2 * c.hidden + c.width),
    ),
    OtherSizes(
        "buffers_for_every_block",
        "with the buffers of all blocks",
        "You count the buffers of every block. They are those of one layer only.",
        _for_every_block,
    ),
    _argument(
        "hidden_taken_for_four_widths",
        "with hidden = 4 x width",
        _FOUR_WIDTHS,
        lambda c: replace(c, hidden=4 * c.width),
    ),
    _activations(
        "hidden_taken_for_four_widths",
        "with activations of 9 x width",
        _FOUR_WIDTHS,
        lambda c: c.blocks * c.batch * 9 * c.width,
    ),
    _model(
        "hidden_taken_for_four_widths",
        "with weights of 4 x width",
        _FOUR_WIDTHS,
        lambda c: 8 * c.width**2 + 5 * c.width,
    ),
    _argument(
        "width_and_hidden_swapped",
        "with width and hidden swapped",
        "You exchange `width` and `hidden`. The input of the chain has `width` features.",
        lambda c: replace(c, width=c.hidden, hidden=c.width),
    ),
    _argument(
        "batch_and_blocks_swapped",
        "with batch and blocks swapped",
        "You exchange `batch` and `blocks`. The order of the parameters is blocks, width, hidden, batch.",
        lambda c: replace(c, batch=c.blocks, blocks=c.batch),
    ),
    *(
        _argument(
            f"{name}_of_the_lesson",
            f"with {name} = {value:,}",
            f"You compute with {name} = {value}, as in the lesson's chain. Use the argument `{name}`.",
            partial_replace,
        )
        for name, value, partial_replace in (
            ("blocks", 16, lambda c: replace(c, blocks=16)),
            ("width", 256, lambda c: replace(c, width=256)),
            ("hidden", 1024, lambda c: replace(c, hidden=1024)),
            ("batch", 512, lambda c: replace(c, batch=512)),
            ("batch", 32, lambda c: replace(c, batch=32)),
        )
    ),
)
