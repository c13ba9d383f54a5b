"""Logits of a student and of its teacher, for a gradient by hand and for a loss."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.observing.contract import fail


@dataclass(frozen=True)
class LogitsCase:
    """Logits of one batch.

    Attributes:
        rows: Rows; 0 for a single row without that dimension.
        classes: Classes.
        temperature: Divides both logits.
        alpha: Weight of the soft loss.
        seed: Seed of the logits and labels.
    """

    rows: int
    classes: int
    temperature: float
    alpha: float
    seed: int

    def draw(self) -> tuple[Tensor, Tensor, Tensor]:
        """Draw the student's logits, the teacher's, which are surer, and the labels."""
        draw = torch.Generator().manual_seed(self.seed)
        shape = (self.rows, self.classes) if self.rows else (self.classes,)
        student = torch.randn(shape, generator=draw, dtype=torch.float64)
        teacher = 3 * torch.randn(shape, generator=draw, dtype=torch.float64)
        return student, teacher, torch.randint(self.classes, (max(self.rows, 1),), generator=draw)


def gradient_cases(seed: int) -> tuple[LogitsCase, ...]:
    """Single rows at several temperatures."""
    draw = random.Random(seed)
    temperatures = (1.0, 4.0, 0.5, draw.choice((2.0, 3.0)), draw.choice((8.0, 10.0)))
    return tuple(LogitsCase(0, 3 + index, value, 0.5, seed + index) for index, value in enumerate(temperatures))


def loss_cases(seed: int) -> tuple[LogitsCase, ...]:
    """Batches whose rows and classes differ in number, at several temperatures and weights; then each loss alone."""
    draw = random.Random(seed)
    drawn = LogitsCase(draw.randrange(2, 6), draw.randrange(7, 12), draw.choice((2.5, 6.0)), 0.8, seed + 2)
    mixed = LogitsCase(5, 6, 4.0, 0.7, seed), LogitsCase(1, 3, 1.0, 0.25, seed + 1), drawn
    return *mixed, LogitsCase(3, 7, 2.0, 1.0, seed + 3), LogitsCase(4, 5, 3.0, 0.0, seed + 4)


def run_gradient(soft_gradient: Callable[..., Any], case: LogitsCase) -> Any:
    """Ask for the gradient of one row."""
    student, teacher, _ = case.draw()
    answer = soft_gradient(student, teacher, case.temperature)
    _require_unchanged(case, student, teacher)
    return answer


def run_loss(distillation_loss: Callable[..., Any], case: LogitsCase) -> dict[str, Any]:
    """Compute a loss and its gradients, by logits that are no leaves; 0 for the teacher's where none arrives."""
    student, teacher, labels = case.draw()
    leaves = student.requires_grad_(), teacher.requires_grad_()
    answers = [logits.clone() for logits in leaves]
    loss = distillation_loss(*answers, labels, case.temperature, case.alpha)
    _require_unchanged(case, *answers)
    loss.backward()
    gradients = [torch.zeros_like(logits) if logits.grad is None else logits.grad for logits in leaves]
    return {"teacher": gradients[1], "loss": loss.detach(), "gradient": gradients[0]}


def _require_unchanged(case: LogitsCase, *answers: Tensor) -> None:
    for name, found, drawn in zip(("student", "teacher"), answers, case.draw(), strict=False):
        if not torch.equal(found, drawn):
            look_at = f"You overwrite the {name}'s logits in place, and the caller still needs them. Make a new tensor."
            fail("inputs_changed", f"the {name}'s logits as they came", "other numbers after the call", look_at)
