"""A job with a byte budget: a dense classifier has to answer like a mixture of experts that is much larger."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.device import lesson_device
from grader.meters.storages import distinct_storage_bytes, tensors_in
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail, require_tensor

BUDGET_SHARE = 0.62  # of the bytes of the base's matrices in float32
FLOAT32_BYTES = 4
HELD_OUT_ROWS = 256
MEASURED_BATCHES = 3


class Mixture(nn.Module):
    """A layer of experts that meets every expert and weighs them by its router."""

    def __init__(self, router: Tensor, experts: Tensor):
        super().__init__()
        self.router, self.experts = nn.Parameter(router), nn.Parameter(experts)

    def forward(self, rows: Tensor) -> Tensor:
        """Map [rows, width] to the same shape."""
        gates = (rows @ self.router).softmax(dim=1)
        outputs = F.gelu(torch.einsum("ri,eoi->reo", rows, self.experts))
        return (gates[..., None] * outputs).sum(dim=1)


class Classifier(nn.Module):
    """Residual layers, each with a normalisation before it, and a fixed head; experts have their own nonlinearity."""

    def __init__(self, layers: list[nn.Module], head: Tensor):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.head: Tensor
        self.register_buffer("head", head)

    def forward(self, rows: Tensor) -> Tensor:
        """Return logits [rows, classes]."""
        for layer in self.layers:
            outputs = layer(F.layer_norm(rows, rows.shape[-1:]))
            rows = rows + (outputs if isinstance(layer, Mixture) else F.gelu(outputs))
        return F.layer_norm(rows, rows.shape[-1:]) @ self.head


@dataclass(frozen=True)
class TightJob:
    """A base that is read from a file, the mixture that it has to answer like, and rows to learn from.

    Attributes:
        width: Features of a row, and sides of the matrices: a multiple of 64, the block size of 4-bit codes, because
            bitsandbytes 0.50 decodes other rows wrongly on the CPU.
        depth: Matrices of the base.
        experts: Experts in each layer of the teacher.
        classes: Classes.
        rows: Rows of a batch.
        updates: Batches.
        seed: Seed of everything.
    """

    width: int
    depth: int
    experts: int
    classes: int
    rows: int
    updates: int
    seed: int

    @property
    def budget_bytes(self) -> int:
        """Bytes that a call may hold in addition to the teacher and the batches."""
        return int(BUDGET_SHARE * FLOAT32_BYTES * self.depth * self.width**2)

    def read_weights(self) -> Iterator[Tensor]:
        """Yield the base's matrices, float32 [width, width], on the lesson's device; each is read when asked for."""
        draw = torch.Generator().manual_seed(self.seed)
        for _ in range(self.depth):
            yield torch.randn(self.width, self.width, generator=draw).div_(self.width**0.5).to(lesson_device())

    def assemble(self, layers: list[nn.Module]) -> Classifier:
        """Build the classifier of layers that each map [rows, width] to the same shape."""
        draw = torch.Generator().manual_seed(self.seed + 1)
        head = torch.randn(self.width, self.classes, generator=draw).div_(self.width**0.5)
        return Classifier(layers, head.to(lesson_device()))

    def make_teacher(self) -> Classifier:
        """Build the mixture.

        Half of its experts have the base's matrices, moved a little for each, and far in the last layer. The router
        hardly uses the others, which are random.
        """
        draw, (middle, centers) = torch.Generator().manual_seed(self.seed + 2), self._centers()
        router = torch.cat((4 * centers, (-16 * middle).expand(self.experts - len(centers), -1))).T / self.width
        layers: list[nn.Module] = []
        for index, weight in enumerate(self.read_weights(), start=1):
            experts = torch.randn(self.experts, self.width, self.width, generator=draw) / self.width**0.5
            own = 0.2 * torch.randn(len(centers), self.width, generator=draw)
            moves = own[:, :, None] * centers[:, None] / self.width
            if index == self.depth:
                moves += 10 * torch.outer(torch.randn(self.width, generator=draw), middle) / self.width
            experts[: len(centers)] = weight.cpu() + moves
            layers.append(Mixture(router.to(weight), experts.to(weight)))
        return self.assemble(layers).eval()

    def draw_rows(self, count: int, draw: int) -> Tensor:
        """Draw rows [rows, width] around one center for each expert that is used."""
        generator, (middle, centers) = torch.Generator().manual_seed(self.seed + draw), self._centers()
        near = centers[torch.randint(len(centers), (count,), generator=generator)]
        rows = middle + near + torch.randn(count, self.width, generator=generator)
        return rows.to(lesson_device())

    def make_batches(self) -> list[tuple[Tensor, Tensor]]:
        """Draw batches of rows [rows, width] and labels [rows]: the class to which the teacher gives the most."""
        rows = self.draw_rows(self.rows * self.updates, 4)
        with torch.no_grad():
            labels = self.make_teacher()(rows).argmax(dim=1)
        return list(zip(torch.split(rows, self.rows), torch.split(labels, self.rows), strict=True))

    def held_out(self) -> Tensor:
        """Draw other rows of the same kind."""
        return self.draw_rows(HELD_OUT_ROWS, 5)

    def _centers(self) -> tuple[Tensor, Tensor]:
        drawn = torch.randn(1 + self.experts // 2, self.width, generator=torch.Generator().manual_seed(self.seed + 3))
        return drawn[0], drawn[1:]


def make_tight_job(seed: int = 0) -> TightJob:
    """Return the job that the notebook shows."""
    return TightJob(256, 16, 10, 120, 8, 40, seed)


def tight_jobs(seed: int) -> tuple[TightJob, ...]:
    """The job of the notebook, and one that differs in every number but its updates."""
    draw = random.Random(seed)
    depth, classes = draw.randrange(13, 15), draw.randrange(90, 110)
    return make_tight_job(seed), TightJob(320, depth, 12, classes, 9, 40, seed + 10)


class JobRecord:
    """What one call did; `weights` is read through it.

    Attributes:
        updates: Steps of optimizers.
        trained: Numbers that had a gradient at the last step.
        has_gradient: Whether a number of a gradient was not zero.
        asked: Forwards of the teacher.
        is_graph_kept: Whether the teacher's answers had a graph.
        asked_later: Forwards of the teacher after the call.
        most_alive: The most of the matrices that were there together when another was read.
        left_alive: Matrices that are still there after the call.
    """

    def __init__(self, weights: Iterator[Tensor]):
        self._weights, self._storages = weights, list[weakref.ref[torch.UntypedStorage]]()
        self.updates = self.trained = self.asked = self.asked_later = self.most_alive = self.left_alive = 0
        self.has_gradient = self.is_graph_kept = self._is_over = False

    def __iter__(self) -> JobRecord:
        return self

    def __next__(self) -> Tensor:
        weight = next(self._weights)
        self._storages.append(weakref.ref(weight.untyped_storage()))
        self.most_alive = max(self.most_alive, self._alive())
        return weight

    def facts(self) -> dict[str, Any]:
        """Return what was recorded, by name."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def note_answer(self, logits: Tensor) -> None:
        """Note a forward of the teacher."""
        self.asked, self.asked_later = self.asked + (not self._is_over), self.asked_later + self._is_over
        self.is_graph_kept |= logits.requires_grad

    def note_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Note what an optimizer is about to update."""
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        self.updates, self.trained = self.updates + 1, sum(gradient.numel() for gradient in gradients)
        self.has_gradient = self.has_gradient or any(bool(gradient.any()) for gradient in gradients)

    def close(self) -> None:
        """Note that the call is over, and which matrices are left."""
        self._is_over, self.left_alive = True, self._alive()

    def _alive(self) -> int:
        return sum(storage() is not None for storage in self._storages)


def run_job(fit_within: Callable[..., Any], case: TightJob) -> tuple[dict[str, Any], Tensor]:
    """Do a job, and then measure one of few batches.

    Returns:
        What the first call did and left, "base_bytes" of its classifier, and the "claim" of the second; the logits of
        that classifier for other rows.
    """
    teacher, batches, record = case.make_teacher(), case.make_batches(), JobRecord(case.read_weights())

    # A function of its own, because a copy of the teacher would copy the record with a bound method.
    def after_forward(_: nn.Module, __: Any, logits: Tensor) -> None:
        record.note_answer(logits)

    handles = (teacher.register_forward_hook(after_forward), register_optimizer_step_pre_hook(record.note_step))
    try:
        student = fit_within(record, case.assemble, teacher, batches, case.budget_bytes)
        record.close()
        answers = _answers(student, case)
    finally:
        for handle in handles:
            handle.remove()
    facts = record.facts() | {"base_bytes": _base_bytes(student)}
    del student
    few = batches[:MEASURED_BATCHES]
    try:
        peak = measure_claimed_peak(
            lambda: fit_within(case.read_weights(), case.assemble, teacher, few, case.budget_bytes),
            model=teacher,
            inputs=few,
        )
    except ValueError as error:
        if "more memory" not in str(error):
            raise
        look_at = "You keep tensors after the call. Look for lists, attributes or globals that hold them."
        fail("memory_kept", "nothing kept but the classifier", str(error), look_at)
    return facts | {"claim": claim_of(peak, lesson_device())}, answers


def _answers(student: Any, case: TightJob) -> Tensor:
    if not callable(student):
        look_at = "You return something else. Return the classifier, which is called on rows."
        fail("no_classifier_returned", "a classifier", f"a value of type {type(student).__name__}", look_at)
    rows = case.held_out()
    with torch.no_grad():
        return require_tensor(student(rows), "the logits", like=rows.new_zeros(len(rows), case.classes)).float().cpu()


def _base_bytes(student: Any) -> int:
    """Return the bytes of what the modules of a classifier hold and do not train."""
    if not isinstance(student, nn.Module):
        return 0
    held = (tensor for module in student.modules() for tensor in tensors_in(vars(module)))
    return distinct_storage_bytes(tensor for tensor in held if not tensor.requires_grad)
