"""Compares a gradient that was computed in 16 bit with its reference, and finds what explains a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, Comparison, compare
from grader.verdict import Verdict

# fp16 rounds by 2**-11 at each layer and bf16 by 2**-8. Measured on these models: 0.1 % for fp16, up to 2 % for bf16.
FP16_TOLERANCE = 0.02
BF16_TOLERANCE = 0.08


def is_near(seen: Tensor, wanted: Tensor, tolerance: float) -> bool:
    """Whether a gradient agrees with its reference; NaN agrees with nothing."""
    return compare(seen, wanted).relative_error <= tolerance


def is_near_multiple(comparison: Comparison, factor: float, tolerance: float) -> bool:
    """Whether a gradient is `factor` times its reference, but for rounding."""
    return comparison.residual <= tolerance and abs(comparison.factor - factor) <= tolerance * abs(factor)


def mean_of(parts: Sequence[Tensor]) -> Tensor:
    """Return the mean of several gradients."""
    return torch.stack(list(parts)).mean(dim=0)


def judge_start(tensors: Mapping[str, Tensor], model: nn.Module) -> Verdict | None:
    """Find weights that were changed before the first update.

    Args:
        tensors: "weights.0", the weights right before the first update, or at the end where there was none.
        model: The model as it was handed over.
    """
    start = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    if is_near(tensors["weights.0"], start, RELATIVE_TOLERANCE):
        return None
    look_at = "the weights are the optimizer's: which of your lines changes them before it steps?"
    return Verdict("weights_changed_at_first", "the weights that were handed over", "other weights", look_at)


def judge_movement(tensors: Mapping[str, Tensor], update: int, learning_rate: float, name: str) -> Verdict | None:
    """Find an update that moves the weights otherwise than plain SGD with the recorded gradient.

    Args:
        tensors: Gradients before each update, and weights before each update and at the end.
        update: Which update.
        learning_rate: Of SGD.
        name: What a message calls the update.
    """
    weights = tensors[f"weights.{update}"]
    moved = weights - tensors[f"weights.{update + 1}"]
    wanted = learning_rate * tensors[f"gradient.{update}"]
    rounding = 2**-23 * float(torch.linalg.vector_norm(weights))
    missed = float(torch.linalg.vector_norm(moved - wanted))
    if missed <= rounding + RELATIVE_TOLERANCE * float(torch.linalg.vector_norm(wanted)):
        return None
    look_at = "the weights are the optimizer's: which of your lines changes them besides?"
    expected = f"at {name}, weights that move by learning rate times gradient"
    return Verdict("weights_changed", expected, "another movement", look_at)
