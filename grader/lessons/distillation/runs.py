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
from grader.observing.contract import fail
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import flat_weights, record_training
from grader.testbed.pair_runs import make_run_dataset, make_run_model

if TYPE_CHECKING:
    from datasets import Dataset

Batch = tuple[Tensor, Tensor]
Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
FEATURES, CLASSES = 6, 4
SETTINGS = ("lr", "momentum", "weight_decay")


@dataclass(frozen=True)
class DistilCase:
    """One pass over batches; teacher and student have layers that behave differently in train and eval mode.

    Attributes:
        rows: Rows of a batch.
        updates: Batches of the pass.
        learning_rate: Of SGD.
        is_student_in_eval: Whether the student comes in eval mode.
        seed: Seed of weights and data.
    """

    rows: int
    updates: int
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
            for _ in range(self.updates)
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
        DistilCase(8, 5, 0.1, False, seed),
        DistilCase(draw.choice((5, 12)), draw.randrange(3, 7), draw.choice((0.05, 0.2)), True, seed + 1),
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
        "modes", whether a part of it was in train mode in each forward; "graphs", whether its logits needed a
        gradient; after the block "changed", "optimized" and "has_gradients".
    """
    record: dict[str, Any] = {"modes": [], "graphs": [], "optimized": False}
    own = {id(parameter) for parameter in teacher.parameters()}
    modes: list[bool] = []

    def note_mode(module: nn.Module, *_: Any) -> None:
        modes.append(module.training)

    def note_answer(module: nn.Module, _: Any, logits: Tensor) -> None:
        record["modes"].append(any(modes) or module.training)
        record["graphs"].append(logits.requires_grad)
        modes.clear()

    def note_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        record["optimized"] |= bool(_held(optimizer) & own)

    before = [value.detach().clone() for value in teacher.state_dict().values()]
    *parts, last = list(teacher.modules())[1:]  # hooks of its parts also run in teacher.forward(inputs)
    handles = [part.register_forward_hook(note_mode) for part in parts]
    handles += [last.register_forward_hook(note_answer), register_optimizer_step_pre_hook(note_step)]
    try:
        yield record
    finally:
        for handle in handles:
            handle.remove()
        after = teacher.state_dict().values()
        record["changed"] = not all(torch.equal(old, new) for old, new in zip(before, after, strict=True))
        record["has_gradients"] = any(parameter.grad is not None for parameter in teacher.parameters())


@contextlib.contextmanager
def record_student(student: nn.Module) -> Iterator[tuple[dict[str, Any], Loss]]:
    """Record what the student and the loss are given, and each update.

    Yields:
        A record, and the loss that the run is given. "seen", the sum of each row of each forward; of each call of the
        loss "labels" and "targets", its second argument; "steps", the optimizer and its settings at each update; after
        the block "student_rows" and "student_modes" of each forward, and "gradients", their norm at each update.
    """
    record: dict[str, Any] = {"seen": [], "labels": [], "targets": [], "steps": []}
    own = {id(parameter) for parameter in student.parameters()}
    graphs: list[bool] = []

    def note_rows(module: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if module is student:  # a deep copy keeps the hooks of its original
            inputs = [value for value in (*arguments, *keywords.values()) if isinstance(value, Tensor)]
            rows = [value.double().sum(1) for value in inputs if value.dim() == 2]
            record["seen"].append(torch.stack(rows).sum(0).tolist() if rows else [])

    def note_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        held = _held(optimizer)
        if held & own:
            settings = {name: float(optimizer.param_groups[0].get(name) or 0) for name in SETTINGS}
            name = type(optimizer).__name__
            record["steps"].append({**settings, "optimizer": name, "left_out": len(own - held)})

    def loss_function(student_logits: Tensor, teacher_logits: Tensor, labels: Tensor) -> Tensor:
        loss = matching_loss(student_logits, teacher_logits, labels)
        graphs.append(loss.requires_grad)
        record["labels"].append(labels.tolist())
        record["targets"].append(teacher_logits.detach().double().flatten().tolist())
        return loss

    handles = [register_optimizer_step_pre_hook(note_step)]
    handles.append(student.register_forward_pre_hook(note_rows, with_kwargs=True))
    try:
        with record_training(student) as trained:
            yield record, loss_function
    except RuntimeError:
        if graphs and not any(graphs):
            look_at = "You run the student under no_grad, too. Only the teacher's forward belongs there."
            fail("student_without_a_graph", "a loss with a graph", "a loss without a graph", look_at)
        raise
    finally:
        for handle in handles:
            handle.remove()
    gradients = [gradient.norm().item() for gradient in trained.gradients]
    record.update(student_rows=trained.forward_rows, student_modes=trained.is_training, gradients=gradients)


def run_distil(distil: Callable[..., Any], case: DistilCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train the student of a case; return losses and weights, and the record of the run."""
    device = lesson_device()
    student, teacher = (model.to(device) for model in case.make_models())
    batches = [(inputs.to(device), labels.to(device)) for inputs, labels in case.draw()]
    with record_teacher(teacher) as asked, record_student(student) as (record, loss_function):
        losses = distil(student, teacher, loss_function, batches, case.learning_rate)
    return {"weights": flat_weights(student).cpu(), "losses": losses}, record | asked


def run_trainer(train: Callable[..., Any], case: TrainerCase) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train the student of a case on sentence pairs; return its weights, and the records of run and library."""
    student, teacher = (model.to(lesson_device()) for model in case.make_models())
    with record_training(student) as training, record_library_calls(training) as calls:
        with record_teacher(teacher) as asked, record_student(student) as (record, loss_function):
            train(student, teacher, loss_function, case.make_dataset(), case.rows, case.learning_rate)
    usage = {"in_trainer": sum(calls["forwards_in_trainer"])}
    return {"weights": flat_weights(student).cpu()}, record | asked | usage


def _held(optimizer: torch.optim.Optimizer) -> set[int]:
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
