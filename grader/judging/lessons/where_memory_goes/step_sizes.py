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
        look_at: What the learner is told to look at.
        sizes: The sizes of a case.
    """

    code: str
    says: str
    look_at: str
    sizes: Callable[[ChainStep], Sizes]


RIGHT = OtherSizes("", "", "", sizes_of)

_PARAMETERS = "the parameters of one block: two weights and two biases, of which shapes?"
_KEPT = "the activations of a block: what do its three layers keep?"
_ALL_BLOCKS = "`blocks`: which of your sizes are for one block, which for all?"
_BATCH = "`batch`: which of your sizes grow with it?"
_ARGUMENTS = "numbers of the lesson's chain in your formula: which argument does each stand for?"


_SHAPE = "a chain whose hidden is not four times its width"


def _model(code: str, says: str, of_block: Callable[[ChainStep], int]) -> OtherSizes:
    return OtherSizes(code, says, _PARAMETERS, lambda c: sizes_of(c) | {"model": c.blocks * of_block(c)})


def _activations(code: str, says: str, look_at: str, elements: Callable[[ChainStep], float]) -> OtherSizes:
    return OtherSizes(code, says, look_at, lambda c: sizes_of(c) | {"activations": elements(c)})


def _argument(code: str, says: str, look_at: str, change: Callable[[ChainStep], ChainStep]) -> OtherSizes:
    return OtherSizes(code, says, look_at, lambda c: sizes_of(change(c)))


def _for_every_block(c: ChainStep) -> Sizes:
    names = ("hidden_rows", "weight", "width", "hidden")
    return sizes_of(c) | {name: c.blocks * sizes_of(c)[name] for name in names}


WRONG_SIZES: tuple[OtherSizes, ...] = (
    _model("biases_forgotten", "without the biases", lambda c: 2 * c.width * c.hidden),
    _model("one_bias_forgotten", "with one bias of a block", lambda c: 2 * c.width * c.hidden + c.hidden),
    _model("one_bias_forgotten", "with one bias of a block", lambda c: 2 * c.width * c.hidden + c.width),
    _model("one_weight_forgotten", "with one weight of a block", lambda c: c.width * c.hidden + c.width + c.hidden),
    OtherSizes(
        "parameters_of_one_block",
        "with the parameters of one block",
        _ALL_BLOCKS,
        lambda c: sizes_of(c) | {"model": sizes_of(c)["model"] / c.blocks},
    ),
    _activations(
        "gelu_input_forgotten",
        "with one tensor [batch, hidden] for a block",
        "what GELU needs for its slope, and what the next layer needs",
        lambda c: c.blocks * c.batch * (c.hidden + c.width),
    ),
    _activations(
        "block_outputs_forgotten",
        "with only the tensors [batch, hidden] of a block",
        _KEPT,
        lambda c: c.blocks * c.batch * 2 * c.hidden,
    ),
    _activations(
        "block_outputs_only", "with only the output of a block", _KEPT, lambda c: c.blocks * c.batch * c.width
    ),
    _activations(
        "block_inputs_counted_too",
        "with input and output of every block",
        "a block's input: is it another tensor than the output of the block before?",
        lambda c: c.blocks * c.batch * 2 * (c.hidden + c.width),
    ),
    _activations(
        "activations_of_one_block",
        "with the activations of one block",
        _ALL_BLOCKS,
        lambda c: c.batch * (2 * c.hidden + c.width),
    ),
    _activations(
        "activations_of_one_row",
        "with the activations of one row",
        _BATCH,
        lambda c: c.blocks * (2 * c.hidden + c.width),
    ),
    _activations(
        "activations_in_elements",
        "with activations of one byte a number",
        "the factor of four bytes: for which pieces does it stand?",
        lambda c: c.blocks * c.batch * (2 * c.hidden + c.width) / FLOAT32_BYTES,
    ),
    _activations(
        "blocks_miscounted",
        "with the activations of one block less",
        _ALL_BLOCKS,
        lambda c: (c.blocks - 1) * c.batch * (2 * c.hidden + c.width),
    ),
    _activations(
        "blocks_miscounted",
        "with the activations of one block more",
        _ALL_BLOCKS,
        lambda c: (c.blocks + 1) * c.batch * (2 * c.hidden + c.width),
    ),
    OtherSizes("buffers_for_every_block", "with the buffers of all blocks", _ALL_BLOCKS, _for_every_block),
    _argument(
        "hidden_taken_for_four_widths",
        "with hidden = 4 x width",
        _SHAPE,
        lambda c: replace(c, hidden=4 * c.width),
    ),
    _activations(
        "hidden_taken_for_four_widths",
        "with activations of 9 x width",
        _SHAPE,
        lambda c: c.blocks * c.batch * 9 * c.width,
    ),
    _model("hidden_taken_for_four_widths", "with weights of 4 x width", lambda c: 8 * c.width**2 + 5 * c.width),
    _argument(
        "width_and_hidden_swapped",
        "with width and hidden swapped",
        "`width` and `hidden`: which of them has the batch's input?",
        lambda c: replace(c, width=c.hidden, hidden=c.width),
    ),
    _argument(
        "batch_and_blocks_swapped",
        "with batch and blocks swapped",
        "the order of the parameters: blocks, width, hidden, batch",
        lambda c: replace(c, batch=c.blocks, blocks=c.batch),
    ),
    *(
        _argument(f"{name}_of_the_lesson", f"with {name} = {value:,}", _ARGUMENTS, partial_replace)
        for name, value, partial_replace in (
            ("blocks", 16, lambda c: replace(c, blocks=16)),
            ("width", 256, lambda c: replace(c, width=256)),
            ("hidden", 1024, lambda c: replace(c, hidden=1024)),
            ("batch", 512, lambda c: replace(c, batch=512)),
            ("batch", 32, lambda c: replace(c, batch=32)),
        )
    ),
)
