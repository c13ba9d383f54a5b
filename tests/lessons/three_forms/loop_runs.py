"""Runs of lesson 00's loop, trained from given gradients and movements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor, nn

from grader.judging.lessons.three_forms.loop_events import rows_of_forwards
from grader.judging.lessons.three_forms.loop_gradients import Run, make_run
from grader.lessons.three_forms.loop import RunCase, raw_run_cases

SEEDS = (0, 20011)

Gradient = Callable[[Run, Tensor, int], Tensor]
Facts = dict[str, object]
Tensors = dict[str, Tensor]


@cache
def run_of(seed: int, setting: int) -> Run:
    return make_run(raw_run_cases(seed)[setting])


def start_of(case: RunCase) -> Tensor:
    return nn.utils.parameters_to_vector(case.make_model().parameters()).detach().clone()


def facts_of(case: RunCase, events: Sequence[str] = ("forward", "backward", "update")) -> Facts:
    rows = rows_of_forwards(case)
    never = [False] * len(rows)
    return {
        "events": list(events) * len(rows),
        "forward_rows": rows,
        "is_training": [True] * len(rows),
        "is_autocast": never,
    }


def right(run: Run, weights: Tensor, update: int) -> Tensor:
    return run.gradient(weights, update)


def descend(run: Run, weights: Tensor, update: int, gradient: Tensor) -> Tensor:
    return weights - run.case.learning_rate * gradient


def train(run: Run, gradient: Gradient = right, move: Callable[..., Tensor] = descend, kept: float = 0.0) -> Tensors:
    """Gradients and weights of a run; `kept` is the share of the last movement that is added to each."""
    weights, movement, tensors = start_of(run.case), torch.tensor(0.0), {}
    for update in range(run.updates):
        seen = gradient(run, weights, update)
        tensors |= {f"gradient.{update}": seen, f"weights.{update}": weights}
        movement = move(run, weights, update, seen) - weights + kept * movement
        weights = weights + movement
    return tensors | {f"weights.{run.updates}": weights}


def losses_of(run: Run, tensors: Tensors) -> list[float]:
    losses = []
    for update in range(run.updates):
        nn.utils.vector_to_parameters(tensors[f"weights.{update}"], run.model.parameters())
        losses.append(run.loss(update).item())
    return losses
