"""An optimizer whose step is a function that somebody hands over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch


class OwnOptimizer(torch.optim.Optimizer):
    """An optimizer with the options of AdamW that leaves its step to a function.

    It is an optimizer as PyTorch means it: schedulers, Accelerate and the Trainer take it. Gradients are not recorded
    while the function runs.

    Args:
        step_function: Takes the optimizer. It reads `param_groups` and the gradients, keeps what it has to remember in
            `state`, which has an empty dict for each parameter at first, and changes the parameters in place.
        parameters: Parameters, or groups of them with options of their own.
        lr: Learning rate.
        betas: Decay rates of both moments.
        eps: Added to the denominator.
        weight_decay: Share of a weight, times the learning rate, that a step takes away.
    """

    def __init__(
        self,
        step_function: Callable[[torch.optim.Optimizer], None],
        parameters: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self.step_function = step_function

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step.

        Args:
            closure: Computes the loss again; none of the course's loops has one.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.step_function(self)
        return loss
