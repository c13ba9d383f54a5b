"""Judges the weights of a loop: who moves them, all of them, and by what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.lessons.three_forms.loop_events import rows_of_forwards
from grader.lessons.three_forms.loop import RunCase
from grader.verdict import Verdict

Tensors = Mapping[str, Tensor]
Explanation = tuple[str, str, str]  # code, measured, look_at

SHARE_LEFT_OUT = 0.01  # of the elements; fewer may stay where they are by rounding


def judge_weights(events: Sequence[str], tensors: Tensors, case: RunCase) -> Verdict | None:
    """Find out whether the optimizer is what moves the weights, and whether it has gradients to do so."""
    expected = f"{len(rows_of_forwards(case))} times forward, backward, update"
    start = nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
    is_moved = not torch.equal(start, tensors["weights.0"])
    if "update" not in events:
        if is_moved:
            measured = "weights that changed without a call of step()"
            return Verdict("optimizer_not_used", expected, measured, "who moves the weights: the optimizer is there")
        if "backward" not in events:
            measured = "no backward and no update of the model that was handed over"
            return Verdict("forwards_only", expected, measured, "what follows the forward, so that the weights move")
        return None
    if is_moved:
        measured = "weights that changed before the first call of step()"
        return Verdict("weights_moved_twice", expected, measured, "who moves the weights beside the optimizer")
    if "backward" not in events and not bool(tensors["gradient.0"].any()):
        return Verdict("no_backward", expected, "no gradient at any update", "who computes the gradient of the loss")
    return _judge_first_movement(tensors, case.learning_rate)


def _judge_first_movement(tensors: Tensors, learning_rate: float) -> Verdict | None:
    """Find out whether a part of the weights stays where it is although it has a gradient."""
    before, after, gradient = tensors["weights.0"], tensors["weights.1"], tensors["gradient.0"]
    is_due = learning_rate * gradient.abs() > 1e-6 * before.abs() + 1e-9
    is_left = is_due & (before == after)
    moved = (before - after)[is_due & ~is_left]
    if is_left.sum() <= SHARE_LEFT_OUT * is_due.sum() or not len(moved):
        return None
    if compare(moved, learning_rate * gradient[is_due & ~is_left]).relative_error > 1e-2:
        return None  # another optimizer or learning rate: told from all weights
    expected = "at update 1, a movement of every weight that has a gradient"
    measured = f"{int(is_left.sum()):,} of {int(is_due.sum()):,} weights that do not move"
    return Verdict("part_of_the_weights_left_out", expected, measured, "which parameters the optimizer is given")


def explain_movement(tensors: Tensors, update: int, learning_rate: float) -> Explanation | None:
    """Tell momentum and weight decay apart from other optimizers."""
    weights = tensors[f"weights.{update}"]
    rest = weights - tensors[f"weights.{update + 1}"] - learning_rate * tensors[f"gradient.{update}"]
    if compare(rest, weights).residual <= 1e-2:
        return "weight_decay", "a movement towards zero in addition", "weight_decay of the optimizer: 0 in plain SGD"
    if not update:
        return None
    before = tensors[f"weights.{update - 1}"] - weights
    if bool(torch.any(before)) and compare(rest, before).residual <= 1e-2:
        return "momentum", "the movement before in addition", "momentum of the optimizer: 0 in plain SGD"
    return None
