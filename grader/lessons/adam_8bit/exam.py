"""Cases and checks of the exam on 8-bit optimizers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.observing.contract import require_number
from grader.observing.variants import Family, require_numbers, variant_checks
from grader.variants import Options

TOPIC = "adam_8bit"


@dataclass(frozen=True)
class MatrixCase:
    """A matrix to be quantized.

    Attributes:
        rows: Its rows.
        columns: Its columns.
        block_size: Numbers of a block.
        seed: Seed of its values.
    """

    rows: int
    columns: int
    block_size: int
    seed: int

    def make_values(self) -> Tensor:
        """Draw the matrix, float32 [rows, columns], with rows of different magnitudes and a few zeros in a row."""
        generator = torch.Generator().manual_seed(self.seed)
        values = torch.randn(self.rows, self.columns, generator=generator)
        values *= torch.logspace(-2, 1, self.rows)[:, None]
        values[1, : self.block_size] = 0
        return values


@dataclass(frozen=True)
class StateCase:
    """A model, by the shapes of its parameters.

    Attributes:
        shapes: The shapes.
        block_size: Numbers of a block.
    """

    shapes: tuple[tuple[int, ...], ...]
    block_size: int


def matrix_cases(seed: int, options: Options) -> Sequence[MatrixCase]:
    """Draw matrices whose rows do not divide into blocks."""
    generator = random.Random(seed)
    return [
        MatrixCase(rows, columns + generator.randrange(1, 4), block_size, generator.randrange(2**31))
        for rows, columns, block_size in ((3, 8, 4), (4, 20, 8), (2, 33, 16))
    ]


def state_cases(seed: int, options: Options) -> Sequence[StateCase]:
    """Draw models with parameters at, above and below the threshold."""
    generator = random.Random(seed)
    edge = options["threshold"]
    odd = [edge + generator.randrange(1, 200) for _ in range(3)]
    return [
        StateCase(((odd[0],), (edge // 64, 64), (edge - 1,)), 128),
        StateCase(((3, odd[1]), (generator.randrange(20, 400),)), 64),
        StateCase(((odd[2], 2), (7, odd[0]), (edge - 20,)), 256),
    ]


def _ask_restored(restore_blocks: Callable[..., Any], seed: int, options: Options) -> list[Any]:
    return [
        require_numbers(restore_blocks(case.make_values(), case.block_size), "the restored values")
        for case in matrix_cases(seed, options)
    ]


def _ask_state(state_bytes: Callable[..., Any], seed: int, options: Options) -> list[Any]:
    return [
        require_number(state_bytes(list(case.shapes), case.block_size), "bytes") for case in state_cases(seed, options)
    ]


__getattr__ = variant_checks(
    TOPIC,
    check_exam_restored=Family("restore_blocks", ("values", "block_size"), _ask_restored),
    check_exam_small_state=Family("state_bytes", ("shapes", "block_size"), _ask_state),
)
