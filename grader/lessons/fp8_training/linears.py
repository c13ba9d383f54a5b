"""Inputs, weights and gradients of a linear layer, and what autograd keeps of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.device import lesson_device
from grader.observing.contract import fail, require_tensor


@dataclass(frozen=True)
class LinearCase:
    """One linear layer.

    Attributes:
        shape: Shape of the input without its features.
        features: Features of the input.
        outputs: Features of the output.
        dtype: Name of the input's format; the weight is float32.
        gradient_decades: Orders of magnitude over which the gradient spreads.
        is_gradient_zero: Whether the gradient that arrives is zero.
        seed: Seed of the draw.
    """

    shape: tuple[int, ...]
    features: int
    outputs: int
    dtype: str
    gradient_decades: float
    is_gradient_zero: bool
    seed: int

    def draw(self) -> dict[str, Tensor]:
        """Draw "inputs" [..., features], "weight" [outputs, features] and "gradient" [..., outputs]."""
        draw = torch.Generator().manual_seed(self.seed)
        dtype: torch.dtype = getattr(torch, self.dtype)
        inputs = 3 * torch.randn(*self.shape, self.features, generator=draw)
        weight = 0.05 * torch.randn(self.outputs, self.features, generator=draw)
        gradient = torch.randn(*self.shape, self.outputs, generator=draw)
        sizes = 10 ** (-self.gradient_decades * torch.rand(gradient.shape, generator=draw))
        gradient = 1e-4 * sizes * gradient * (not self.is_gradient_zero)
        return {"inputs": inputs.to(dtype), "weight": weight, "gradient": gradient.to(dtype)}


def linear_cases(seed: int) -> tuple[LinearCase, ...]:
    """Rows in float32; sequences in bf16, whose gradients spread widely; a gradient of zeros."""
    draw = random.Random(seed)
    features, outputs = draw.randrange(20, 40), draw.randrange(8, 16)
    return (
        LinearCase((12,), 24, 16, "float32", 1.0, False, seed),
        LinearCase((3, draw.randrange(5, 9)), features, outputs, "bfloat16", 7.0, False, seed + 1),
        LinearCase((5,), outputs, features, "float32", 1.0, True, seed + 2),
    )


def run_linear(linear: Callable[..., Any], case: LinearCase) -> dict[str, Tensor]:
    """Run forward and backward; return the output and both gradients."""
    values = {name: value.to(lesson_device()) for name, value in case.draw().items()}
    inputs, weight = values["inputs"].requires_grad_(), nn.Parameter(values["weight"])
    outputs = linear(inputs, weight)
    require_tensor(outputs, "the output", like=values["gradient"])
    if not outputs.requires_grad:
        look_at = "You return an output without a graph, so nothing is trained. Return what `apply` returns."
        fail("no_graph_returned", "an output that backward can start from", "one that needs no gradient", look_at)
    torch.autograd.backward(outputs, values["gradient"])
    found = {"outputs": outputs.detach()}
    for name, leaf in (("inputs", inputs), ("weight", weight)):
        gradient = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        found[name] = require_tensor(gradient, f"the gradient of {name}", like=leaf.detach())
    return {name: value.cpu() for name, value in found.items()}


def saved_case(seed: int) -> LinearCase:
    """Return the layer whose saved tensors are looked at: more input than weight."""
    draw = random.Random(seed)
    return LinearCase((4, 16 * draw.randrange(4, 9)), 64, 48, "bfloat16", 1.0, False, seed + 3)


def observe_saved(linear: Callable[..., Any], case: LinearCase) -> dict[str, Any]:
    """Run forward; return what autograd keeps without the weight, and what else the function's context holds."""
    values = {name: value.to(lesson_device()) for name, value in case.draw().items()}
    inputs, weight = values["inputs"].requires_grad_(), nn.Parameter(values["weight"])
    saved: dict[int, Tensor] = {}

    def remember(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage().data_ptr() != weight.untyped_storage().data_ptr():
            saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(remember, lambda tensor: tensor):
        outputs = linear(inputs, weight)
    contexts, hidden = [outputs.grad_fn], 0
    for context in contexts:  # grows while it is walked
        held = vars(context).values() if hasattr(context, "__dict__") else ()
        hidden += sum(value.untyped_storage().nbytes() for value in held if isinstance(value, Tensor) and value.dim())
        contexts += [following for following, _ in getattr(context, "next_functions", ()) if following is not None]
    rows = [(tensor.element_size(), tensor.untyped_storage().nbytes()) for tensor in saved.values()]
    own = sum(isinstance(context, torch.autograd.function.BackwardCFunction) for context in contexts)
    return {"rows": rows, "hidden_bytes": hidden, "own_functions": own}
