"""Cases and checks of the exam on gradient accumulation."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.observing.contract import require_number
from grader.observing.variants import Family, require_numbers, variant_checks
from grader.variants import Options

TOPIC = "gradient_accumulation"
FEATURES = 3


@dataclass(frozen=True)
class GroupsCase:
    """One epoch of micro-batches of different lengths.

    Attributes:
        rows: Rows of each micro-batch.
        limit: What closes a group: so many rows, or so many micro-batches.
        seed: Seed of data and weights.
    """

    rows: tuple[int, ...]
    limit: int
    seed: int

    def make_model(self) -> nn.Module:
        """Build one layer."""
        layer = nn.Linear(FEATURES, 1)
        generator = torch.Generator().manual_seed(self.seed)
        with torch.no_grad():
            layer.weight.copy_(torch.randn(1, FEATURES, generator=generator))
            layer.bias.zero_()
        return layer

    def make_batches(self) -> list[tuple[Tensor, Tensor]]:
        """Draw the micro-batches: inputs [rows, 3] and targets [rows, 1]."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        return [
            (torch.randn(rows, FEATURES, generator=generator), torch.randn(rows, 1, generator=generator))
            for rows in self.rows
        ]


@dataclass(frozen=True)
class PeakCase:
    """A training run, by its sizes.

    Attributes:
        parameters: Parameters of the model.
        activation_bytes: Bytes of the activations of the whole batch.
        k: Micro-batches of an update.
    """

    parameters: int
    activation_bytes: int
    k: int


def groups_cases(seed: int, options: Options) -> Sequence[GroupsCase]:
    """Draw two epochs whose last group is not full, and one whose groups are."""
    generator = random.Random(seed)
    cases = []
    for _ in range(2):
        rows = [generator.choice((2, 3, 5, 7)) for _ in range(7)]
        limit = 3 if options["group"] == "count" else sum(rows[:3]) - 1
        cases.append(GroupsCase((*rows, 1), limit, generator.randrange(2**31)))
    rows = [2, 4, 6, 6, 4, 2]
    cases.append(GroupsCase(tuple(rows), 3 if options["group"] == "count" else 12, generator.randrange(2**31)))
    return cases


def peak_cases(seed: int, options: Options) -> Sequence[PeakCase]:
    """Draw runs whose peak is in the forward pass, and runs whose peak is in the update."""
    generator = random.Random(seed)
    parameters = [generator.randrange(1_000, 50_000) * 1_000 for _ in range(4)]
    shares = (40, 24, 3, 2)
    return [
        PeakCase(numbers, numbers * share, k)
        for numbers, share, k in zip(parameters, shares, (1, 4, 4, 8), strict=True)
    ]


def run_groups(train: Callable[..., Any], case: GroupsCase, options: Options, *last: Any) -> dict[str, list[float]]:
    """Train a model by SGD with momentum; return each "weight" of it, and each "norm" that the function returns."""

    def loss_function(outputs: Tensor, targets: Tensor) -> Tensor:
        return F.mse_loss(outputs, targets, reduction=options["loss"])

    model = case.make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    norms = train(model, loss_function, optimizer, case.make_batches(), case.limit, *last)
    weights = [number for parameter in model.parameters() for number in parameter.detach().flatten().tolist()]
    return {"weight": weights, "norm": require_numbers(norms, "the norm of each update's gradient")}


def _ask_groups(train: Callable[..., Any], seed: int, options: Options) -> list[Any]:
    return [run_groups(train, case, options) for case in groups_cases(seed, options)]


def _ask_peak(peak_of_update: Callable[..., Any], seed: int, options: Options) -> list[Any]:
    return [
        require_number(peak_of_update(case.parameters, case.activation_bytes, case.k), "the peak in bytes")
        for case in peak_cases(seed, options)
    ]


__getattr__ = variant_checks(
    TOPIC,
    check_exam_groups=Family(
        "train_in_groups", ("model", "loss_function", "optimizer", "micro_batches", "limit"), _ask_groups
    ),
    check_exam_peak=Family("peak_of_update", ("parameters", "activation_bytes", "k"), _ask_peak),
)
