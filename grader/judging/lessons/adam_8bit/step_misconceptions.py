"""The step of 8-bit AdamW as it is right, and what students believe of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from grader.judging.lessons.adam_8bit.blocks import quantize_blocks  # noqa: F401  (an edit calls it)
from grader.judging.misconceptions import Edits, Misconception
from grader.judging.references import Answer
from grader.testbed.block_codes import BLOCK, decode_blocks, encode_blocks, make_code_book

SIGNED, UNSIGNED = make_code_book(is_signed=True), make_code_book(is_signed=False)


def eight_bit_step(optimizer: torch.optim.Optimizer) -> None:
    """Take one step of 8-bit AdamW with all groups."""
    mean_book, square_book = SIGNED, UNSIGNED
    for group in optimizer.param_groups:
        for weight in group["params"]:
            gradient = weight.grad
            if gradient is None:
                continue
            state = optimizer.state[weight]
            block = BLOCK if weight.numel() >= 4096 else 0
            if not state:
                zeros = torch.zeros_like(weight)
                state.update(step=0, mean=keep(zeros, mean_book, block), square=keep(zeros, square_book, block))
            state["step"] += 1
            mean, square = read(state["mean"], mean_book, block), read(state["square"], square_book, block)
            adamw_update(weight, gradient, mean, square, state["step"], group)
            state["mean"] = keep(mean, mean_book, block)
            state["square"] = keep(square, square_book, block)


def adamw_update(
    weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, step: int, group: Mapping[str, Any]
) -> None:
    """Take AdamW's step with one tensor, and update both moments."""
    lr, eps, decay = group["lr"], group["eps"], group["weight_decay"]
    beta1, beta2 = group["betas"]
    mean.lerp_(gradient, 1 - beta1)
    square.lerp_(gradient.square(), 1 - beta2)
    weight.mul_(1 - lr * decay)
    weight.sub_(lr * mean / (1 - beta1**step) / ((square / (1 - beta2**step)).sqrt() + eps))


def keep(moment: Tensor, book: Tensor, block: int) -> Any:
    """Return a moment as a large tensor keeps it, in codes and scales; a small tensor keeps its numbers."""
    return encode_blocks(moment, book, block) if block else moment.clone()


def read(kept: Any, book: Tensor, block: int) -> Any:
    """Return the numbers of what is kept."""
    return decode_blocks(kept[0], kept[1], book, block) if block else kept.clone()


# The parts of the reference that misconceptions edit.
BOOKS = "mean_book, square_book = SIGNED, UNSIGNED"
GROUPS, WEIGHTS = "in optimizer.param_groups:", 'for weight in group["params"]:'
CONTINUE, STATE = "continue", "state = optimizer.state[weight]"
IS_LARGE = "weight.numel() >= 4096"
BLOCK_SIZE = "block = BLOCK if weight.numel() >= 4096 else 0"
START = "mean=keep(zeros, mean_book, block), square=keep(zeros, square_book, block)"
COUNTED = 'state["step"] += 1'
READ = 'mean, square = read(state["mean"], mean_book, block), read(state["square"], square_book, block)'
UPDATE = 'adamw_update(weight, gradient, mean, square, state["step"], group)'
KEEP_MEAN = 'state["mean"] = keep(mean, mean_book, block)'
KEEP_SQUARE = 'state["square"] = keep(square, square_book, block)'
ENCODE = "encode_blocks(moment, book, block)"
LR, EPS, WEIGHT_DECAY, BETAS = 'group["lr"]', 'group["eps"]', 'group["weight_decay"]', 'group["betas"]'
DECAYED = "weight.mul_(1 - lr * decay)"
SQUARED = "square.lerp_(gradient.square(), 1 - beta2)"

CODE_ZERO = "(zeros.to(torch.uint8), torch.ones(-(-zeros.numel() // block))) if block else zeros"
LOSE_MEAN = {KEEP_MEAN: f"if not block: {KEEP_MEAN}"}
LOSE_SQUARE = {KEEP_SQUARE: f"if not block: {KEEP_SQUARE}"}


def _exact(moment: str) -> Edits:
    """Return edits that keep one moment in float32."""
    lines = (START, READ, KEEP_MEAN if moment == "mean" else KEEP_SQUARE)
    return {line: line.replace(f"{moment}_book, block", f"{moment}_book, 0") for line in lines}


def _scaled(factor: str) -> Edits:
    return {STATE: f"{STATE}; gradient = {factor} * gradient"}


MISCONCEPTIONS: tuple[Misconception[Answer], ...] = (
    Misconception(
        "nothing_quantized",
        "You keep float32 moments for large tensors. Encode both at the end of the step, and decode them at the next.",
        {BLOCK_SIZE: "block = 0"},
    ),
    Misconception(
        "one_moment_quantized",
        "You quantize one moment of a large tensor only. Keep both as codes and scales.",
        _exact("square"),
        variants=[_exact("mean")],
    ),
    Misconception(
        "signed_book_for_both",
        "You use SIGNED for both moments. The second one is never negative: use UNSIGNED.",
        {BOOKS: "mean_book, square_book = SIGNED, SIGNED"},
    ),
    Misconception(
        "unsigned_book_for_both",
        "You use UNSIGNED for both moments, so all negative means become 0. Use SIGNED for the first one.",
        {BOOKS: "mean_book, square_book = UNSIGNED, UNSIGNED"},
    ),
    Misconception(
        "books_swapped",
        "You exchange the two books, or the two moments. The mean takes SIGNED, the other one UNSIGNED.",
        {BOOKS: "mean_book, square_book = UNSIGNED, SIGNED"},
    ),
    Misconception(
        "second_moment_zero",
        "You let second moments become 0, so that epsilon alone divides. encode_blocks gives them code 1 at least.",
        {ENCODE: "quantize_blocks(moment, book, block)"},
    ),
    Misconception(
        "small_tensors_quantized",
        "You quantize small tensors. Those of fewer than 4,096 numbers keep their moments in float32.",
        {BLOCK_SIZE: "block = BLOCK"},
    ),
    Misconception(
        "limit_included",
        "You keep a tensor of exactly 4,096 numbers in float32. Codes begin at 4,096 numbers: use >=.",
        {IS_LARGE: "weight.numel() > 4096"},
    ),
    Misconception(
        "limit_by_dimension",
        "You quantize tensors by their number of dimensions. Their count of numbers decides.",
        {IS_LARGE: "weight.dim() > 1"},
    ),
    Misconception(
        "gradient_quantized",
        "You encode the gradient, too. Only the two moments are kept as codes.",
        {STATE: f"{STATE}; gradient = read(keep(gradient, SIGNED, BLOCK), SIGNED, BLOCK)"},
    ),
    Misconception(
        "another_block",
        "You give more numbers than 256 one scale. A block is 256 numbers.",
        {BLOCK_SIZE: "block = 2048 if weight.numel() >= 4096 else 0"},
        variants=[{BLOCK_SIZE: "block = weight.numel() if weight.numel() >= 4096 else 0"}],
    ),
    Misconception(
        "started_at_code_zero",
        "You begin with code 0, which stands for the smallest value of the book. Encode zeros instead.",
        {START: f"mean={CODE_ZERO}, square={CODE_ZERO}"},
    ),
    Misconception(
        "state_never_written",
        "You do not write a new moment of a large tensor back into the state. Encode both again at the end of the "
        "step.",
        LOSE_MEAN | LOSE_SQUARE,
        variants=[LOSE_MEAN, LOSE_SQUARE],
    ),
    Misconception(
        "weight_from_codes",
        "You move the weight by moments that were encoded already. Move it by the exact ones, then encode them.",
        {
            SQUARED: f"{SQUARED}; block = {BLOCK_SIZE.partition(' = ')[2]}; "
            "mean, square = read(keep(mean, SIGNED, block), SIGNED, block), "
            "read(keep(square, UNSIGNED, block), UNSIGNED, block)"
        },
    ),
    Misconception(
        "one_count_for_all",
        "You keep one step count for several tensors. A tensor whose gradients begin later needs a count of its own, "
        "in its state.",
        {
            WEIGHTS: f'group["count"] = group.get("count", 0) + 1\n        {WEIGHTS}',
            COUNTED: 'state["step"] = group["count"]',
        },
        variants=[{COUNTED: 'optimizer.count = state["step"] = getattr(optimizer, "count", 0) + 1'}],
    ),
    Misconception(
        "step_miscounted",
        "You use another step count than 1, 2, 3, ... Raise it once at each step, before it is used.",
        {COUNTED: 'state["step"] = 1'},
        variants=[{"step=0": "step=-1"}, {"step=0": "step=1"}],
    ),
    Misconception(
        "zero_gradient_not_counted",
        "You do not count a step whose gradient is all zeros. That is a gradient: only None is skipped.",
        {COUNTED: 'state["step"] += bool(gradient.any())'},
    ),
    Misconception(
        "missing_gradient_zero",
        "You update a tensor without a gradient as if its gradient were zero. Skip it: nothing of it moves.",
        {CONTINUE: "gradient = torch.zeros_like(weight)"},
    ),
    Misconception(
        "decay_without_gradient",
        "You decay a tensor whose gradient is None. Skip it before the decay.",
        {CONTINUE: f"weight.mul_(1 - {LR} * {WEIGHT_DECAY}); continue"},
    ),
    Misconception(
        "tensors_behind_left_out",
        "You end a loop at a tensor without a gradient, so the tensors behind it are not updated. Use `continue`.",
        {CONTINUE: "break"},
        variants=[{CONTINUE: "return"}],
    ),
    Misconception(
        "later_groups_left_out",
        "You update the first group only. Go through all of optimizer.param_groups.",
        {GROUPS: "in optimizer.param_groups[:1]:"},
    ),
    Misconception(
        "options_of_first_group",
        "You hand the options of the first group on for every tensor. Hand on the group that the tensor is in.",
        {UPDATE: UPDATE.replace("group)", "optimizer.param_groups[0])")},
    ),
    Misconception(
        "decay_left_out",
        "You never decay the weights. Hand weight_decay on to the update.",
        {WEIGHT_DECAY: "0.0"},
    ),
    Misconception(
        "learning_rate_fixed",
        "You keep the learning rate of the first step. A schedule changes it: read it at each step.",
        {LR: 'group.setdefault("first lr", group["lr"])'},
    ),
    Misconception(
        "weight_moved_twice",
        "You update the weight twice in one step. Look for a second call of adamw_update.",
        {UPDATE: f"{UPDATE}; {UPDATE}"},
    ),
    Misconception(
        "betas_swapped",
        "You use the first beta for the second moment, and the second for the first. `betas` holds beta1, then beta2.",
        {"beta1, beta2 = group": "beta2, beta1 = group"},
    ),
    Misconception(
        "betas_not_read",
        "You use betas of 0.9 and 0.999, which are the defaults. Read those of the group.",
        {BETAS: "(0.9, 0.999)"},
    ),
    Misconception(
        "eps_not_read",
        "You use an epsilon of 1e-8, or a gradient so large that epsilon no longer counts. Read the epsilon of the "
        "group, and use the gradient as it is.",
        {EPS: "1e-8"},
    ),
    Misconception(
        "decay_not_read",
        "You decay by 0.01, which is the default. Read the weight_decay of the group.",
        {WEIGHT_DECAY: "0.01"},
    ),
    Misconception(
        "learning_rate_not_read",
        "You use a learning rate of your own. Read the lr of the group.",
        {LR: "4e-3"},
        variants=[{LR: "1e-3"}, {LR: "8e-3"}],
    ),
    Misconception(
        "gradient_scaled",
        "You multiply the gradient by a constant. Adam divides it out again, except for epsilon. Use the gradient as "
        "it is.",
        _scaled("4"),
        variants=[_scaled("0.25"), _scaled("2"), _scaled("0.5")],
    ),
)
