"""Checkpoints with faults to be found, as they were published or are easily written."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import checkpoint as library

FAULTS = ("parameter_gradients", "random_state", "input_without_gradient", "no_recompute")

Checkpoint = Callable[[nn.Module, Tensor], Tensor]


@dataclass(frozen=True)
class FaultsCase:
    """A checkpoint, and what it does.

    Attributes:
        fills_parameters: Whether backward leaves gradients in the parameters of the block.
        restores_random_state: Whether the second run draws the random numbers of the first.
        needs_gradient: Whether the output needs a gradient where the input needs none.
        runs_again: Whether backward runs the block again, and holds no graph until then.
        is_torch: Whether it is torch's own without reentry, which stops the second run early.
    """

    fills_parameters: bool = True
    restores_random_state: bool = True
    needs_gradient: bool = True
    runs_again: bool = True
    is_torch: bool = False

    def make_checkpoint(self) -> Checkpoint:
        """Return `checkpoint(block, inputs)` that does this."""
        if self.is_torch:
            return partial(library.checkpoint, use_reentrant=False)

        def checkpoint(block: nn.Module, inputs: Tensor) -> Tensor:
            # A tensor that needs a gradient makes the output need one; its own gradient is None.
            needs_gradient = torch.zeros((), requires_grad=self.needs_gradient)
            outputs: Tensor = _Checkpoint.apply(self, block, inputs, needs_gradient)  # type: ignore[no-untyped-call]
            return outputs

        return checkpoint


def faults_cases(seed: int) -> tuple[FaultsCase, ...]:
    """Nine checkpoints in some order: two sound ones, one of them torch's; each fault alone; three with several."""
    checkpoints = [
        FaultsCase(),
        FaultsCase(fills_parameters=False),
        FaultsCase(restores_random_state=False),
        FaultsCase(needs_gradient=False),
        FaultsCase(runs_again=False),
        FaultsCase(fills_parameters=False, restores_random_state=False, needs_gradient=False),  # as published
        FaultsCase(restores_random_state=False, needs_gradient=False),
        FaultsCase(fills_parameters=False, runs_again=False),
        FaultsCase(is_torch=True),
    ]
    return tuple(random.Random(seed).sample(checkpoints, len(checkpoints)))


class _Checkpoint(torch.autograd.Function):
    """Runs a block without a graph and again in backward, except for what the case leaves out."""

    @staticmethod
    def forward(ctx: Any, case: FaultsCase, block: nn.Module, inputs: Tensor, needs_gradient: Tensor) -> Tensor:
        ctx.case, ctx.block, ctx.random_state = case, block, torch.get_rng_state()
        ctx.save_for_backward(inputs)
        if case.runs_again:
            return block(inputs)  # type: ignore[no-any-return]
        ctx.graph = _run_with_graph(block, inputs)
        return ctx.graph[1].detach()  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *output_gradients: Any) -> tuple[None, None, Tensor | None, None]:
        (inputs,) = ctx.saved_tensors
        if ctx.case.runs_again:
            with torch.random.fork_rng(devices=[], enabled=ctx.case.restores_random_state):
                if ctx.case.restores_random_state:
                    torch.set_rng_state(ctx.random_state)
                own_inputs, outputs = _run_with_graph(ctx.block, inputs)
        else:
            own_inputs, outputs = ctx.graph
        if ctx.case.fills_parameters:
            torch.autograd.backward(outputs, output_gradients[0])
            return None, None, own_inputs.grad, None
        if not inputs.requires_grad:
            return None, None, None, None
        return None, None, torch.autograd.grad(outputs, own_inputs, output_gradients[0])[0], None


def _run_with_graph(block: nn.Module, inputs: Tensor) -> tuple[Tensor, Tensor]:
    own_inputs = inputs.detach().requires_grad_(inputs.requires_grad)
    with torch.enable_grad():
        return own_inputs, block(own_inputs)
