"""Students that learn from a teacher, in a raw loop and with the Trainer, and what the teacher is asked meanwhile."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.device import lesson_device
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import flat_weights, record_training
from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset

Batch = tuple[Tensor, Tensor]
FEATURES, CLASSES = 6, 4


@dataclass(frozen=True)
class DistilCase:
    """One pass over batches; teacher and student have layers that behave differently in train and eval mode.

    Attributes:
        batches: How many there are.
        rows: Rows of each.
        learning_rate: Of SGD.
        is_student_in_eval: Whether the student comes in eval mode.
        seed: Seed of weights and data.
    """

    batches: int
    rows: int
    learning_rate: float
    is_student_in_eval: bool
    seed: int

    def make_models(self) -> tuple[nn.Module, nn.Module]:
        """Build the student and the teacher, which is in train mode, as its own training left it."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            student = nn.Sequential(nn.Linear(FEATURES, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, CLASSES))
            teacher = nn.Sequential(nn.Linear(FEATURES, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, CLASSES))
            with torch.no_grad():
                for _ in range(4):
                    teacher(3 + 2 * torch.randn(64, FEATURES))
        return student.train(not self.is_student_in_eval), teacher.train()

    def draw(self) -> list[Batch]:
        """Draw inputs [rows, features] and labels [rows]."""
        draw = torch.Generator().manual_seed(self.seed)
        shape = (self.rows, FEATURES)
        return [
            (torch.randn(shape, generator=draw), torch.randint(CLASSES, shape[:1], generator=draw))
            for _ in range(self.batches)
        ]


@dataclass(frozen=True)
class TrainerCase:
    """Sentence pairs for one epoch, in their order.

    Attributes:
        rows: Rows of a batch.
        updates: Batches of the epoch.
        learning_rate: Constant.
        seed: Seed of data and weights.
    """

    rows: int
    updates: int
    learning_rate: float
    seed: int

    def make_models(self) -> tuple[nn.Module, nn.Module]:
        """Build the student and the teacher, which is in train mode; neither has dropout."""
        return make_run_model(self.seed), make_run_model(self.seed + 100).train()

    def make_dataset(self) -> Dataset:
        """Write and tokenize the pairs; the last batch is one pair short."""
        return make_run_dataset(self.rows * self.updates - 1, self.seed)


def distil_cases(seed: int) -> tuple[DistilCase, ...]:
    """A student in train mode, and one that was left in eval mode."""
    draw = random.Random(seed)
    return (
        DistilCase(5, 8, 0.1, False, seed),
        DistilCase(draw.randrange(3, 7), draw.choice((5, 12)), draw.choice((0.05, 0.2)), True, seed + 1),
    )


def trainer_cases(seed: int) -> tuple[TrainerCase, ...]:
    """Two settings that differ in every number."""
    draw = random.Random(seed)
    return TrainerCase(4, 4, 0.1, seed), TrainerCase(3, draw.choice((3, 5)), draw.choice((0.05, 0.2)), seed + 1)


def matching_loss(student_logits: Tensor, teacher_logits: Tensor, labels: Tensor) -> Tensor:
    """Return a loss that a run is given: logits that match the teacher's, and the labels."""
    return F.mse_loss(student_logits, teacher_logits) + F.cross_entropy(student_logits, labels)


@contextlib.contextmanager
def record_teacher(teacher: nn.Module) -> Iterator[dict[str, Any]]:
    """Record each forward of the teacher, and whether an optimizer or a gradient reaches it.

    Yields:
        "modes", whether it was in train mode in each forward; "graphs", whether its output needed a gradient;
        after the block "changed", "optimized" and "has_gradients".
    """
    record: dict[str, Any] = {"modes": [], "graphs": [], "optimized": False}
    own = {id(parameter) for parameter in teacher.parameters()}

    def note(module: nn.Module, _: Any, output: Any) -> None:
        record["modes"].append(any(inner.training for inner in module.modules()))
        record["graphs"].append(bool(getattr(output, "logits", output).requires_grad))

    def note_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        record["optimized"] |= bool(held & own)

    before = [value.detach().clone() for value in teacher.state_dict().values()]
    handles = [teacher.register_forward_hook(note), register_optimizer_step_pre_hook(note_step)]
    try:
        yield record
    finally:
        for handle in handles:
            handle.remove()
        after = teacher.state_dict().values()
        record["changed"] = not all(torch.equal(old, new) for old, new in zip(before, after, strict=True))
        record["has_gradients"] = any(parameter.grad is not None for parameter in teacher.parameters())


def run_distil(distil: Callable[..., Any], case: DistilCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train the student of a case; return losses and weights, and what was recorded of the teacher."""
    device = lesson_device()
    student, teacher = (model.to(device) for model in case.make_models())
    batches = [(inputs.to(device), labels.to(device)) for inputs, labels in case.draw()]
    with record_teacher(teacher) as record:
        losses = distil(student, teacher, matching_loss, batches, case.learning_rate)
    return {"weights": flat_weights(student).cpu(), "losses": losses}, record


def run_trainer(train: Callable[..., Any], case: TrainerCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train the student of a case on sentence pairs; return its weights, and the records of teacher and library."""
    student, teacher = (model.to(lesson_device()) for model in case.make_models())
    with record_training(student) as training, record_library_calls(training) as calls, record_teacher(teacher) as seen:
        train(student, teacher, matching_loss, case.make_dataset(), case.rows, case.learning_rate)
    usage = {"forwards": len(training.forward_rows), "in_trainer": sum(calls["forwards_in_trainer"])}
    return {"weights": flat_weights(student).cpu()}, {**seen, **usage, "updates": case.updates}
