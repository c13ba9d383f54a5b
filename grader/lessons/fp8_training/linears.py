"""Inputs, weights and gradients of a linear layer, and what autograd keeps of them."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.device import lesson_device
from grader.lessons.fp8_training.operands import Operands
from grader.observing.contract import fail, require_tensor


@dataclass(frozen=True)
class LinearCase:
    """One linear layer.

    Attributes:
        shape: Shape of the input without its features.
        features: Features of the input.
        outputs: Features of the output.
        dtype: Name of the input's format; the weight is float32.
        gradient_size: Size of the largest numbers of the gradient that arrives; it may be zero.
        gradient_decades: Orders of magnitude over which the gradient spreads.
        seed: Seed of the draw.
    """

    shape: tuple[int, ...]
    features: int
    outputs: int
    dtype: str
    gradient_size: float
    gradient_decades: float
    seed: int

    def draw(self) -> dict[str, Tensor]:
        """Draw "inputs" [..., features], "weight" [outputs, features] and "gradient" [..., outputs]."""
        draw = torch.Generator().manual_seed(self.seed)
        dtype: torch.dtype = getattr(torch, self.dtype)
        inputs = 3 * torch.randn(*self.shape, self.features, generator=draw)
        weight = 0.05 * torch.randn(self.outputs, self.features, generator=draw)
        gradient = torch.randn(*self.shape, self.outputs, generator=draw)
        sizes = 10 ** (-self.gradient_decades * torch.rand(gradient.shape, generator=draw))
        gradient = self.gradient_size * sizes * gradient
        return {"inputs": inputs.to(dtype), "weight": weight, "gradient": gradient.to(dtype)}


def linear_cases(seed: int) -> tuple[LinearCase, ...]:
    """Rows in float32; sequences in bf16, whose gradients are tiny and spread widely; a gradient of zeros."""
    draw = random.Random(seed)
    features, outputs = draw.randrange(20, 40), draw.randrange(8, 16)
    return (
        LinearCase((12,), 24, 16, "float32", 1e-4, 1.0, seed),
        LinearCase((3, draw.randrange(5, 9)), features, outputs, "bfloat16", 1e-9, 7.0, seed + 1),
        LinearCase((5,), outputs, features, "float32", 0.0, 1.0, seed + 2),
    )


def run_linears(linear: Callable[..., Any], cases: Sequence[LinearCase]) -> list[tuple[dict[str, Tensor], list[bool]]]:
    """Run forward and backward in each case; return output and gradients, and which products were of fp8 numbers."""
    drawn = [{name: value.to(lesson_device()) for name, value in case.draw().items()} for case in cases]
    weights = [nn.Parameter(2 * values["weight"]) for values in drawn]  # all exist before the first call
    return [_run_linear(linear, weight, **values) for weight, values in zip(weights, drawn, strict=True)]


def _run_linear(
    linear: Callable[..., Any], parameter: nn.Parameter, inputs: Tensor, weight: Tensor, gradient: Tensor
) -> tuple[dict[str, Tensor], list[bool]]:
    with torch.no_grad():  # as an earlier step would, with another value of the same parameter
        linear(inputs, parameter)
        parameter.copy_(weight)
    inputs, weight = inputs.requires_grad_(), parameter
    with Operands() as operands:
        outputs = linear(inputs, weight)
        require_tensor(outputs, "the output", like=gradient)
        _require_graph(outputs)
        torch.autograd.backward(outputs, gradient)
    found = {"outputs": outputs.detach()}
    for name, leaf in (("inputs", inputs), ("weight", weight)):
        arrived = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        found[name] = require_tensor(arrived, f"the gradient of {name}", like=leaf.detach())
    return {name: value.float().cpu() for name, value in found.items()}, operands.products


def _require_graph(outputs: Tensor) -> None:
    if not outputs.requires_grad:
        look_at = "You return an output without a graph, so nothing is trained. Return what `apply` returns."
        fail("no_graph_returned", "an output that backward can start from", "one that needs no gradient", look_at)


def saved_case(seed: int) -> LinearCase:
    """Return the layer whose saved tensors are looked at: more input than weight."""
    draw = random.Random(seed)
    return LinearCase((4, 16 * draw.randrange(4, 9)), 64, 48, "bfloat16", 1e-4, 1.0, seed + 3)


def observe_saved(linear: Callable[..., Any], case: LinearCase) -> dict[str, Any]:
    """Run forward; return what autograd keeps without the weight, and the bytes of other tensors that stay alive."""
    values = {name: value.to(lesson_device()) for name, value in case.draw().items()}
    inputs, weight = values["inputs"].requires_grad_(), nn.Parameter(values["weight"])
    saved: dict[int, Tensor] = {}

    def remember(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage().data_ptr() != weight.untyped_storage().data_ptr():
            saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    gc.freeze()  # what exists is left out of get_objects
    try:
        rows = [inputs.mul(1)]
        with torch.autograd.graph.saved_tensors_hooks(remember, lambda tensor: tensor):
            outputs = linear(rows.pop(), weight)  # whose only reference goes with the call
        gc.collect()
        live = [one for one in gc.get_objects() if issubclass(type(one), Tensor)]
    finally:
        gc.unfreeze()
    require_tensor(outputs, "the output", like=values["gradient"])
    _require_graph(outputs)
    found = {one.untyped_storage().data_ptr(): one for one in live}
    own = {one.untyped_storage().data_ptr() for one in (inputs, weight, outputs)} | set(saved)
    hidden = sum(one.untyped_storage().nbytes() for place, one in found.items() if place not in own)
    sizes = [(tensor.element_size(), tensor.untyped_storage().nbytes()) for tensor in saved.values()]
    return {"rows": sizes, "hidden_bytes": hidden}
