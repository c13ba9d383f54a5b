"""Judges whether the optimizer alone moves the weights, from the first update on."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.verdict import Verdict


def judge_start(tensors: Mapping[str, Tensor], model: nn.Module) -> Verdict | None:
    """Find weights that were changed before the first update.

    Args:
        tensors: "weights.0", the weights right before the first update, or at the end where there was none.
        model: The model as it was handed over.
    """
    start = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    if compare(tensors["weights.0"], start).is_equal:
        return None
    look_at = "You change weights before the first update. Leave them to the optimizer."
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
    look_at = "You change weights outside the optimizer's step, or with another learning rate. Leave them to the step."
    expected = f"at {name}, weights that move by learning rate times gradient"
    return Verdict("weights_changed", expected, "another movement", look_at)
