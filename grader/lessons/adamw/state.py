"""Parameters whose optimizer state is predicted."""

from __future__ import annotations

import random

import torch

from grader.testbed.optimizer_states import StateCase, TensorKind, distilbert_tensors


def state_cases(seed: int) -> tuple[StateCase, ...]:
    """Six settings: DistilBERT, as in the lesson, and five that it never shows.

    They hold frozen tensors, 16-bit formats, both formats side by side, and each of the four optimizers.
    """
    draw = random.Random(seed)
    width, rows, layers = 8 * draw.randrange(11, 30), draw.randrange(500, 900), draw.randrange(3, 7)
    table, matrix, bias = (rows, width), (width, 3 * width), (width,)

    def stack(dtype: torch.dtype, count: int) -> tuple[TensorKind, ...]:
        return (TensorKind(matrix, dtype), TensorKind(bias, dtype)) * count

    frozen = (TensorKind(table, is_trained=False), TensorKind(bias, is_trained=False))
    frozen_half = tuple(TensorKind(kind.shape, torch.bfloat16, is_trained=False) for kind in frozen)
    return (
        StateCase("AdamW", distilbert_tensors()),
        StateCase("SGD with momentum", (*frozen, *stack(torch.float32, layers))),
        StateCase("AdamW", (*frozen_half, *stack(torch.bfloat16, layers + 1), TensorKind((), torch.bfloat16))),
        StateCase("RMSProp", (*stack(torch.float32, layers), *stack(torch.float16, 3), *frozen)),
        StateCase("AdamW", (TensorKind(table), *stack(torch.float16, layers), *stack(torch.float32, 1))),
        StateCase("SGD", (TensorKind(table), *stack(torch.float32, layers))),
    )
