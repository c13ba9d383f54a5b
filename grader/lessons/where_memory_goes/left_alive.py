"""Namespaces of running programs, whose names keep memory alive."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.testbed.chain import make_chain


@dataclass(frozen=True)
class NamespaceCase:
    """The names of one program at one moment.

    Attributes:
        program: What the program is.
        rows: Rows of its batches.
        width: Features of its models.
        build: Makes the objects by name, from rows, width and a device.
    """

    program: str
    rows: int
    width: int
    build: Callable[[int, int, torch.device], dict[str, Any]]

    def make_namespace(self, device: torch.device | str = "cpu") -> dict[str, Any]:
        """Build the objects by name; nothing but the namespace holds them. The random state stays as it was."""
        with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU
            return self.build(self.rows, self.width, torch.device(device))


def namespace_cases(seed: int) -> tuple[NamespaceCase, ...]:
    """Return a training script, a fine-tuning with tied weights and checkpoints, and a notebook that keeps outputs."""
    draw = random.Random(seed)
    rows, widths = [draw.randrange(17, 90) for _ in range(3)], [4 * draw.randrange(6, 20) for _ in range(3)]
    return (
        NamespaceCase("a training script", rows[0], widths[0], _training_script),
        NamespaceCase("a fine-tuning", rows[1], widths[1], _fine_tuning),
        NamespaceCase("a notebook", rows[2], widths[2], _notebook),
    )


def _training_script(rows: int, width: int, device: torch.device) -> dict[str, Any]:
    model = make_chain(2, width, 4 * width).to(device)
    older_model = _with_gradients(make_chain(3, width, 2 * width).to(device))
    optimizer = torch.optim.AdamW(_with_gradients(model).parameters(), foreach=False)
    optimizer.step()
    inputs = torch.zeros(rows, width, device=device)
    activations = torch.zeros(rows, 4 * width, device=device)
    return {
        "epoch": 3,
        "run_name": "baseline",
        "model": model,
        "optimizer": optimizer,
        "scheduler": None,
        "inputs": inputs,
        "batch": inputs,
        "best": {"epoch": 2, "model": older_model},
        "losses": [0.71, 0.52],
        "logits": [torch.zeros(rows + step, 10, device=device) for step in range(3)],
        "first_row": activations[:1],
    }


class _TiedEncoder(nn.Module):
    """An encoder whose output layer uses the weight of its embedding."""

    def __init__(self, tokens: int, width: int):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.body = nn.Linear(width, width)
        self.head = nn.Linear(width, tokens, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("mask", torch.zeros(tokens, tokens, dtype=torch.bool))


def _fine_tuning(rows: int, width: int, device: torch.device) -> dict[str, Any]:
    encoder = _TiedEncoder(3 * rows, width).to(device)
    best_weights = copy.deepcopy(encoder.state_dict())
    optimizer = torch.optim.SGD(_with_gradients(encoder).body.parameters(), lr=0.1, momentum=0.9, foreach=False)
    optimizer.step()
    projector = nn.Sequential(nn.Linear(width, rows), nn.BatchNorm1d(rows)).to(device)
    return {
        "encoder": encoder,
        "optimizer": optimizer,
        "checkpoint": {"step": 100, "weights": encoder.state_dict()},
        "best_weights": best_weights,
        "projector": projector,
        "word_vectors": encoder.embedding.weight.detach()[5:9],
        "token_ids": torch.zeros(rows, 7, dtype=torch.int64, device=device),
        "scores": torch.zeros(rows, 3 * rows, dtype=torch.float16, device=device),
        "padding": torch.zeros(rows, 1, width, device=device).expand(rows, 12, width),
        "no_rows": torch.zeros(0, width, device=device),
    }


def _notebook(rows: int, width: int, device: torch.device) -> dict[str, Any]:
    table = torch.ones(rows, width, device=device)
    result, older_result = torch.zeros(rows, 5, device=device), torch.zeros(rows, 9, device=device)
    pieces = [torch.zeros(width + number, device=device) for number in range(4)]
    return {
        "math": math,
        "square": _square,
        "Out": {12: result, 15: older_result},
        "_12": result,
        "_": torch.zeros(rows, 3, device=device),
        "table": table,
        "last_column": table[:, -1],
        "copied": table.clone(),
        "rows": list(torch.zeros(rows, width + 1, device=device).unbind()),
        "pieces": ((pieces[0], pieces[1]), (pieces[2], [pieces[3]])),
        "chosen": pieces[2],
        "history": [{"epoch": number, "output": torch.zeros(rows, 2 + number, device=device)} for number in range(2)],
    }


def _with_gradients(model: nn.Module) -> Any:
    """Give every parameter a gradient, without a graph."""
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    return model


def _square(value: Tensor) -> Tensor:
    return value * value
