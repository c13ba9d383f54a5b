"""Runs that are interrupted after some updates and go on from a saved state, recorded at each micro-batch."""

from __future__ import annotations

import io
import random
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from grader.observing.contract import fail

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*m")
ANOTHER_PROCESS = 1000  # added to the seeds of whatever a resumed run builds
Parts = tuple[nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.Generator]


@dataclass(frozen=True)
class TrainingCase:
    """One run, and the updates after which it is interrupted.

    Attributes:
        examples: Rows of the data set.
        rows: Rows of a micro-batch.
        k: Micro-batches of an update.
        updates: Updates of the whole run.
        stops: After how many updates the run is interrupted.
        optimizer: AdamW, or SGD with momentum.
        seed: Seed of data, weights and draws.
    """

    examples: int
    rows: int
    k: int
    updates: int
    stops: tuple[int, ...]
    optimizer: str
    seed: int

    def make_dataset(self) -> TensorDataset:
        """Draw the rows, each of which differs from every other."""
        draw = torch.Generator().manual_seed(self.seed)
        inputs = torch.randn(self.examples, 6, generator=draw)
        return TensorDataset(inputs, inputs[:, :2].prod(dim=1, keepdim=True))

    def build(self, process: int) -> Parts:
        """Build what a process has before it trains; the draws of each process begin elsewhere."""
        seed = self.seed + process * ANOTHER_PROCESS
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 1))
        if self.optimizer == "adamw":
            optimizer: torch.optim.Optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
            scheduler: Any = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.updates + 5)
        else:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
            scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 1 / (1 + 0.2 * update))
        return model, optimizer, scheduler, torch.Generator().manual_seed(seed + 1)

    @property
    def what(self) -> str:
        """The case in words."""
        return f"{self.examples} rows, micro-batches of {self.rows}, k = {self.k}"


def training_cases(seed: int) -> tuple[TrainingCase, ...]:
    """A stop within an epoch, stops at an epoch's end and within a later one, and groups of one micro-batch."""
    draw = random.Random(seed)
    return (
        TrainingCase(55, 5, 4, draw.choice((13, 14)), (7,), "adamw", 3 * seed),
        TrainingCase(draw.choice((25, 26)), 4, 2, 15, (4, 10), "sgd", 3 * seed + 1),
        TrainingCase(draw.choice((27, 28)), 6, 1, 16, (draw.choice((7, 8)),), "adamw", 3 * seed + 2),
    )


def digest(*tensors: Tensor) -> int:
    """Return a number that differs where a bit differs."""
    number = 0
    for tensor in tensors:
        values = tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8)  # whatever their format
        number = zlib.crc32(values.numpy().tobytes(), number)
    return number


@dataclass
class Record:
    """What was seen at each forward pass and before each update.

    Attributes:
        forwards: Digests of the inputs, of the weights and of the default generator.
        steps: The rate, and a digest of what the optimizer remembers.
    """

    forwards: list[list[int]] = field(default_factory=list)
    steps: list[list[Any]] = field(default_factory=list)

    def watch(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Record the forward passes of a model and the updates of an optimizer from now on."""
        model.register_forward_pre_hook(self._see_forward)
        optimizer.register_step_pre_hook(self._see_step)

    def _see_forward(self, model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        weights = digest(*model.parameters())
        self.forwards.append([digest(inputs[0]), weights, digest(torch.get_rng_state())])

    def _see_step(self, optimizer: torch.optim.Optimizer, *given: Any) -> None:
        tensors = list(
            _tensors([optimizer.state[weight] for group in optimizer.param_groups for weight in group["params"]])
        )
        self.steps.append([float(optimizer.param_groups[0]["lr"]), digest(*tensors)])

    def as_facts(self) -> dict[str, Any]:
        """Return the record as an observation has it."""
        return {"forwards": self.forwards, "steps": self.steps}


def _tensors(state: Any) -> Iterator[Tensor]:
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, dict):
        for _, value in sorted(state.items(), key=lambda item: str(item[0])):
            yield from _tensors(value)
    elif isinstance(state, list | tuple):
        for value in state:
            yield from _tensors(value)


def weights_of(model: nn.Module) -> Tensor:
    """Return all weights in one tensor."""
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


@dataclass(frozen=True)
class Piece:
    """What one process did.

    Attributes:
        record: Its forward passes and updates.
        weights: The weights that it ended with.
        saved: The bytes of the state that it returned.
        live: Its model, optimizer, scheduler and generator.
        state: The state, as it was returned.
    """

    record: Record
    weights: Tensor
    saved: bytes
    live: Parts
    state: dict[str, Any]


def run_piece(
    train_until: Callable[..., Any], case: TrainingCase, dataset: Any, updates: int, process: int, saved: bytes | None
) -> Piece:
    """Train in what could be a process of its own, from the bytes of a state if there are any."""
    parts = case.build(process)
    record = Record()
    record.watch(parts[0], parts[1])
    given = None if saved is None else load(saved)
    state = train_until(*parts, dataset, case.rows, case.k, updates, given)
    if not isinstance(state, dict):
        look_at = "Your state has another form. Return a dict from which another process can go on."
        fail("no_state_returned", "a state: a dict", type(state).__name__, look_at)
    return Piece(record, weights_of(parts[0]), save(state), parts, state)


def save(state: Any) -> bytes:
    """Return a state as `torch.save` writes it."""
    file = io.BytesIO()
    try:
        torch.save(state, file)
    except Exception as error:  # whatever pickle raises, it is about what the state holds
        look_at = "Your state holds something that cannot be saved. Keep tensors, numbers and the parts' state_dict()."
        fail(
            "state_cannot_be_saved", "a state that torch.save writes", f"{type(error).__name__}: {error}"[:200], look_at
        )
    return file.getvalue()


def load(saved: bytes) -> Any:
    """Return a state as `torch.load` reads it without running code that it may hold."""
    try:
        return torch.load(io.BytesIO(saved), weights_only=True)
    except Exception as error:  # whatever the unpickler raises, it is about what the state holds
        look_at = (
            "Your state holds objects, which only code could rebuild. Keep tensors, numbers and the parts' "
            "state_dict(); of a generator, get_state()."
        )
        text = _TERMINAL_CODES.sub("", str(error)).strip().splitlines()[0]
        measured = f"{type(error).__name__}: {text}"[:200]
        fail("object_in_the_state", "a state that torch.load reads with weights_only=True", measured, look_at)


def observe_runs(train_until: Callable[..., Any], case: TrainingCase) -> tuple[dict[str, Any], Tensor]:
    """Run uninterrupted, and interrupted; return what differs could be seen in, and the uninterrupted weights."""
    dataset = case.make_dataset()
    whole = run_piece(train_until, case, dataset, case.updates, 0, None)
    saved, pieces = None, []
    for process, updates in enumerate((*case.stops, case.updates)):
        piece = run_piece(train_until, case, dataset, updates, process, saved)
        saved = piece.saved
        pieces.append(piece)
    facts = {
        "whole": whole.record.as_facts(),
        "pieces": [piece.record.as_facts() for piece in pieces],
        "is_equal": torch.equal(whole.weights, pieces[-1].weights),
    }
    return facts, whole.weights


STATE_UPDATES = (15, 120, 125)  # the sizes of the first two states are compared; the last one is trained to


def state_case(seed: int) -> TrainingCase:
    """A run whose data set is large, so that no epoch ends."""
    first, later, last = STATE_UPDATES
    return TrainingCase(3_000, random.Random(seed).choice((3, 5)), 2, last, (first, later), "adamw", 3 * seed + 7)


def observe_states(train_until: Callable[..., Any], case: TrainingCase) -> dict[str, Any]:
    """Save two states of one run, train on, and resume; return the bytes, and whether the states changed."""
    dataset = case.make_dataset()
    first, later, last = STATE_UPDATES
    early = run_piece(train_until, case, dataset, first, 0, None)
    before = digest(*_tensors(early.state))
    model, optimizer, scheduler, generator = early.live
    _train_on(model, optimizer, scheduler, dataset)
    torch.rand(3, generator=generator)
    changed = digest(*_tensors(early.state)) != before
    late = run_piece(train_until, case, dataset, later, 1, early.saved)
    resumed = run_piece(train_until, case, dataset, last, 2, late.saved)
    whole = run_piece(train_until, case, dataset, last, 0, None)
    return {
        "bytes": [len(early.saved), len(late.saved)],
        "holds_dataset": any(tensor.shape == dataset.tensors[0].shape for tensor in _tensors(early.state)),
        "changed": changed,
        "is_equal": torch.equal(whole.weights, resumed.weights),
    }


def _train_on(model: nn.Module, optimizer: torch.optim.Optimizer, scheduler: Any, dataset: Any) -> None:
    """Make one more update, as the process that returned the state may."""
    inputs, targets = dataset[:8]
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    scheduler.step()
