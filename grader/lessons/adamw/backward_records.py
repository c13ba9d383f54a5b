"""Records which gradients are in memory, and which optimizers step, during a backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.observing.contract import fail


class BackwardRecord:
    """What happened in the backward passes of one model.

    Attributes:
        steps_inside: Steps of optimizers of the model during a backward pass.
        steps_after: Steps of optimizers of the model at other times.
        steps_of_others: Steps during a backward pass of optimizers that `make_optimizer` did not make.
        gradients_alive: The most gradients that existed at once during a backward pass.
        gradients_left: The most gradients that were left after a backward pass.
    """

    def __init__(self, model: nn.Module):
        self.trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.steps_inside = self.steps_after = self.steps_of_others = 0
        self.gradients_alive = self.gradients_left = 0
        self._is_running = False
        self._made: list[torch.optim.Optimizer] = []  # kept alive, so that no other object gets the id of one of them

    def noting(self, make_optimizer: Callable[[Any], torch.optim.Optimizer]) -> Callable[[Any], torch.optim.Optimizer]:
        """Return a `make_optimizer` whose optimizers are known."""

        def make_noted(parameters: Any) -> torch.optim.Optimizer:
            self._made.append(make_optimizer(parameters))
            return self._made[-1]

        return make_noted

    def run_backward(self, loss: Tensor) -> None:
        """Run the backward pass of a loss."""
        self._is_running = True
        try:
            loss.backward()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                raise
            fail(
                "weight_needed_later",
                "hooks that change only their own parameter, whose gradient is complete",
                "a weight that was changed while the backward pass still needed it",
                "You step other parameters than the hook's own: all that still have a gradient move as well. Give each "
                "hook an optimizer of its own parameter, and free the gradient.",
            )
        finally:
            self._is_running = False
        self.gradients_left = max(self.gradients_left, self._alive())

    def facts(self) -> dict[str, Any]:
        """Return the counts by name."""
        names = ("steps_inside", "steps_after", "steps_of_others", "gradients_alive", "gradients_left")
        return {name: getattr(self, name) for name in names}

    def note_gradient(self, _: Tensor) -> None:
        """Note how many gradients there are right after one of them was written."""
        self.gradients_alive = max(self.gradients_alive, self._alive())

    def note_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Note a step of an optimizer."""
        own = {id(parameter) for parameter in self.trained}
        if any(id(parameter) in own for group in optimizer.param_groups for parameter in group["params"]):
            self.steps_inside += self._is_running
            self.steps_after += not self._is_running
            self.steps_of_others += self._is_running and all(optimizer is not made for made in self._made)

    def _alive(self) -> int:
        return sum(parameter.grad is not None for parameter in self.trained)
