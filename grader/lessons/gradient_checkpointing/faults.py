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
PUBLISHED = frozenset({"parameter_gradients", "random_state", "input_without_gradient"})

Checkpoint = Callable[[nn.Module, Tensor], Tensor]


@dataclass(frozen=True)
class FaultsCase:
    """A checkpoint with some of the faults.

    Attributes:
        faults: Names out of `FAULTS`.
        is_torch: Whether it is torch's own without reentry, which has no fault and stops the second run early.
    """

    faults: frozenset[str]
    is_torch: bool = False

    def make_checkpoint(self) -> Checkpoint:
        """Return `checkpoint(block, inputs)` with these faults."""
        if self.is_torch:
            return partial(library.checkpoint, use_reentrant=False)

        def checkpoint(block: nn.Module, inputs: Tensor) -> Tensor:
            # A tensor that needs a gradient makes the output need one; its own gradient is None.
            needs_gradient = torch.zeros((), requires_grad="input_without_gradient" not in self.faults)
            outputs: Tensor = _Checkpoint.apply(  # type: ignore[no-untyped-call]
                self.faults, block, inputs, needs_gradient
            )
            return outputs

        return checkpoint


def faults_cases(seed: int) -> tuple[FaultsCase, ...]:
    """Nine checkpoints in some order: two sound ones, one of them torch's; each fault alone; three with several."""
    several = (PUBLISHED, frozenset(FAULTS[1:3]), frozenset({"no_recompute", "parameter_gradients"}))
    cases = [frozenset[str](), *(frozenset({name}) for name in FAULTS), *several]
    checkpoints = [*map(FaultsCase, cases), FaultsCase(frozenset(), is_torch=True)]
    return tuple(random.Random(seed).sample(checkpoints, len(checkpoints)))


class _Checkpoint(torch.autograd.Function):
    """Runs a block without a graph and again in backward, except for the faults."""

    @staticmethod
    def forward(ctx: Any, faults: frozenset[str], block: nn.Module, inputs: Tensor, needs_gradient: Tensor) -> Tensor:
        ctx.faults, ctx.block, ctx.random_state = faults, block, torch.get_rng_state()
        ctx.save_for_backward(inputs)
        if "no_recompute" in faults:
            ctx.graph = _run_with_graph(block, inputs)
            return ctx.graph[1].detach()  # type: ignore[no-any-return]
        return block(inputs)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *output_gradients: Any) -> tuple[None, None, Tensor | None, None]:
        (inputs,) = ctx.saved_tensors
        if "no_recompute" in ctx.faults:
            own_inputs, outputs = ctx.graph
        else:
            with torch.random.fork_rng(devices=[], enabled="random_state" not in ctx.faults):
                if "random_state" not in ctx.faults:
                    torch.set_rng_state(ctx.random_state)
                own_inputs, outputs = _run_with_graph(ctx.block, inputs)
        if "parameter_gradients" not in ctx.faults:
            torch.autograd.backward(outputs, output_gradients[0])
            return None, None, own_inputs.grad, None
        if not inputs.requires_grad:
            return None, None, None, None
        return None, None, torch.autograd.grad(outputs, own_inputs, output_gradients[0])[0], None


def _run_with_graph(block: nn.Module, inputs: Tensor) -> tuple[Tensor, Tensor]:
    own_inputs = inputs.detach().requires_grad_(inputs.requires_grad)
    with torch.enable_grad():
        return own_inputs, block(own_inputs)
