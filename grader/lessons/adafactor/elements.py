"""Parameters whose Adafactor state is predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import nn

from grader.testbed.extras import import_train_extra
from grader.testbed.optimizer_states import StateCase, TensorKind, distilbert_tensors

LIBRARIES = ("torch", "transformers", "transformers with momentum")


@dataclass(frozen=True)
class ElementsCase(StateCase):
    """Parameters that one of `LIBRARIES` updates; `optimizer` is its name."""

    def make_optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        """Make the Adafactor that the case is about."""
        if self.optimizer == "torch":
            return torch.optim.Adafactor(parameters)
        optimization = import_train_extra("transformers.optimization")
        beta1 = 0.9 if self.optimizer == "transformers with momentum" else None
        made: torch.optim.Optimizer = optimization.Adafactor(parameters, beta1=beta1)
        return made


def elements_cases(seed: int) -> tuple[ElementsCase, ...]:
    """Six settings: DistilBERT in both libraries, as in the lesson, and four that it never shows.

    They hold convolutions, stacks of matrices, frozen tensors, 16-bit tensors, single numbers, and matrices of one row.
    """
    draw = random.Random(seed)
    width, rows, experts = 8 * draw.randrange(11, 30), draw.randrange(500, 900), draw.randrange(3, 8)
    layers, channels, kernel = draw.randrange(3, 7), 4 * draw.randrange(5, 12), draw.choice((3, 5))
    matrix, bias = TensorKind((width, 3 * width)), TensorKind((width,))
    table, frozen = TensorKind((rows, width)), TensorKind((rows, 2 * width), is_trained=False)
    convolution = TensorKind((channels, 3 * channels, kernel, kernel + 2))
    half = TensorKind((width, 2 * width), torch.bfloat16)
    stack = TensorKind((experts, width, 3 * width))
    return (
        ElementsCase("transformers", distilbert_tensors()),
        ElementsCase("torch", distilbert_tensors()),
        ElementsCase("transformers", (convolution, TensorKind((channels,))) * layers + (matrix, bias)),
        ElementsCase("torch", (table, frozen, *(stack, bias) * (layers + 1))),
        ElementsCase("transformers with momentum", (frozen, matrix, bias, half, TensorKind(()), bias, stack)),
        ElementsCase("transformers", (TensorKind((1, width)), bias, TensorKind((rows, 1)), frozen, TensorKind(()))),
    )
