"""Runs with Accelerate and with the Trainer that are killed, and started again with what the folder holds then."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import DataLoader, TensorDataset

from grader.device import lesson_device
from grader.lessons.checkpoint_and_resume.training import ANOTHER_PROCESS, Record, digest, weights_of
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import TrainingRecord

EVERY = 3  # updates between two saves of the Trainer
Train = Callable[..., Any]


class KilledError(BaseException):
    """Ends a run in the middle of a forward pass, as a signal would; no `except Exception` holds it."""


@dataclass(frozen=True)
class FormsCase:
    """One run, and the forward passes at which it is killed.

    Attributes:
        examples: Rows of the data set.
        rows: Rows of a micro-batch.
        k: Micro-batches of an update.
        epochs: Epochs of the whole run.
        kills: Forward passes, counted from 1, at which a run is killed.
        seed: Seed of data, weights and draws.
    """

    examples: int
    rows: int
    k: int
    epochs: int
    kills: tuple[int, ...]
    seed: int

    def make_dataset(self) -> TensorDataset:
        """Draw the rows, each of which differs from every other."""
        draw = torch.Generator().manual_seed(self.seed)
        inputs = torch.rand(self.examples, 6, generator=draw) - 0.5
        return TensorDataset(inputs, 4 * inputs[:, :2].prod(dim=1, keepdim=True))

    def make_model(self, process: int) -> nn.Module:
        """Build the model of a process, whose weights and draws begin elsewhere than those of any other."""
        torch.manual_seed(self.seed + process * ANOTHER_PROCESS)
        return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 1))

    @property
    def micro_batches(self) -> int:
        """Micro-batches of an epoch."""
        return -(-self.examples // self.rows)

    @property
    def updates_per_epoch(self) -> int:
        """Updates of an epoch."""
        return -(-self.micro_batches // self.k)


def forms_case(seed: int) -> FormsCase:
    """A run of three epochs, killed early, in the middle of a group, and in the last epoch."""
    draw = random.Random(seed)
    rows, k = draw.choice(((4, 2), (3, 3)))
    examples = 11 * rows - 1  # a short last micro-batch, and a short last group
    within = 11 + draw.choice((6, 8) if k == 2 else (5, 8))  # in the middle of a group of the second epoch
    kills = (2, within, 2 * 11 + draw.randrange(8, 11))
    own_seed = draw.randrange(2**31)  # the Trainer hands it to numpy, which takes 32 bits
    return FormsCase(examples, rows, k, 3, kills, own_seed)


class Regression(nn.Module):
    """Returns its loss, as the Trainer expects."""

    def __init__(self, layers: nn.Module):
        super().__init__()
        self.layers = layers

    def forward(self, inputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Return the loss and the outputs."""
        outputs = self.layers(inputs)
        return {"loss": nn.functional.mse_loss(outputs, targets), "outputs": outputs}


class FormRecord(Record):
    """Records a run, and kills it at a forward pass after copying its folder."""

    def __init__(self, folder: Path, kill: int | None, copy: Path | None):
        super().__init__()
        self._folder, self._kill, self._copy = folder, kill, copy

    @contextmanager
    def watching(self, layers: nn.Module) -> Iterator[None]:
        """Record the forward passes of a model, and the updates of whatever optimizer holds its weights."""
        own = {id(weight) for weight in layers.parameters()}

        def see_step(optimizer: torch.optim.Optimizer, *given: Any) -> None:
            if own & {id(weight) for group in optimizer.param_groups for weight in group["params"]}:
                self._see_step(optimizer)

        def see_forward(layers: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            if len(self.forwards) + 1 == self._kill and self._copy is not None:
                shutil.copytree(self._folder, self._copy)
                raise KilledError
            self._see_forward(layers, inputs)
            if inputs[0].is_cuda:
                self.forwards[-1][2] = digest(torch.cuda.get_rng_state())

        handles = [layers.register_forward_pre_hook(see_forward), register_optimizer_step_pre_hook(see_step)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def run_accelerate(train: Train, case: FormsCase, layers: nn.Module, folder: Path) -> None:
    """Call `train(accelerator, model, optimizer, scheduler, loader, epochs, folder)`."""
    from accelerate import Accelerator, DataLoaderConfiguration
    from accelerate.state import AcceleratorState, GradientState

    AcceleratorState._reset_state()
    GradientState._reset_state()
    order = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=case.seed)
    is_cpu = lesson_device().type == "cpu"
    accelerator = Accelerator(cpu=is_cpu, gradient_accumulation_steps=case.k, dataloader_config=order)
    optimizer = torch.optim.AdamW(layers.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, case.epochs * case.updates_per_epoch + 5)
    loader: DataLoader[Any] = DataLoader(
        case.make_dataset(), batch_size=case.rows, shuffle=True, generator=torch.Generator()
    )
    prepared = accelerator.prepare(layers, optimizer, scheduler, loader)
    train(accelerator, *prepared, case.epochs, str(folder))


def run_trainer(train: Train, case: FormsCase, layers: nn.Module, folder: Path) -> None:
    """Call `train(model, examples, arguments, every, folder)`."""
    arguments = {
        "per_device_train_batch_size": case.rows,
        "gradient_accumulation_steps": case.k,
        "num_train_epochs": case.epochs,
        "learning_rate": 0.02,
        "lr_scheduler_type": "cosine",
        "seed": case.seed,
        "use_cpu": lesson_device().type == "cpu",
        "dataloader_pin_memory": False,
        "report_to": "none",
        "disable_tqdm": True,
        "logging_strategy": "no",
    }
    rows = zip(*case.make_dataset().tensors, strict=True)
    examples = [{"inputs": inputs, "targets": targets} for inputs, targets in rows]
    train(Regression(layers).to(lesson_device()), examples, arguments, EVERY, str(folder))


def observe_form(run: Callable[..., None], train: Train, case: FormsCase) -> dict[str, Any]:
    """Run uninterrupted, and for each kill run until then and again from what the folder holds.

    Returns:
        "whole", the record of the uninterrupted run; "pieces", for each kill the record of the run that goes on, and
        whether it ends in the same weights; "calls", how libraries were used.
    """
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        whole, weights, calls = _run_once(run, train, case, 0, root / "whole", None, None)
        pieces = []
        for number, kill in enumerate(case.kills, start=1):
            copy = root / f"copy-{number}"
            _run_once(run, train, case, 0, root / f"killed-{number}", kill, copy)
            resumed, ended, _ = _run_once(run, train, case, number, copy, None, None)
            pieces.append({**resumed.as_facts(), "is_equal": torch.equal(weights, ended)})
    return {"whole": whole.as_facts(), "pieces": pieces, "calls": calls}


def _run_once(
    run: Callable[..., None],
    train: Train,
    case: FormsCase,
    process: int,
    folder: Path,
    kill: int | None,
    copy: Path | None,
) -> tuple[FormRecord, Tensor, dict[str, int]]:
    folder.mkdir(exist_ok=True)
    layers = case.make_model(process).to(lesson_device())
    record = FormRecord(folder, kill, copy)
    calls: dict[str, list[Any]] = {"trainer": [], "backward": []}
    try:
        with record.watching(layers), record_library_calls(TrainingRecord()) as calls:
            run(train, case, layers, folder)
    except KilledError:
        pass
    if copy is not None and not copy.exists():  # the run ended before it could be killed
        shutil.copytree(folder, copy)
    return record, weights_of(layers), {"trainer": len(calls["trainer"]), "backward": len(calls["backward"])}
