"""Tokens, gates and experts of one layer, and what each expert is called on."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.observing.contract import fail, require_tensor

PARTS = ("output", "tokens", "gates", "experts")  # the output, then the gradients


@dataclass(frozen=True)
class DispatchCase:
    """One batch of tokens for one layer of experts.

    Attributes:
        tokens: How many tokens there are.
        width: Features of a token.
        experts: How many experts there are.
        chosen: Experts that a token is sent to.
        capacity_factor: A binary fraction.
        skew: How much the first experts are preferred.
        seed: Seed of tokens, gates and experts.
    """

    tokens: int
    width: int
    experts: int
    chosen: int
    capacity_factor: float
    skew: float
    seed: int

    def make_experts(self) -> nn.ModuleList:
        """Build the experts, whose outputs are not zero for a token of zeros."""
        width, hidden = self.width, 2 * self.width
        experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, width)) for _ in range(self.experts)
        ).double()
        # A default initialisation is drawn in float32, whose last bits depend on the instructions of the CPU.
        draw = torch.Generator().manual_seed(self.seed)
        with torch.no_grad():
            for parameter in experts.parameters():
                parameter.copy_(torch.rand(parameter.shape, generator=draw, dtype=torch.float64) - 0.5)
        return experts

    def draw(self) -> tuple[Tensor, Tensor, Tensor]:
        """Draw tokens [tokens, width], gates [tokens, experts] and the gradient that arrives at the output."""
        draw = torch.Generator().manual_seed(self.seed)
        tokens, arriving = torch.randn(2, self.tokens, self.width, generator=draw, dtype=torch.float64)
        liked = torch.randn(self.tokens, self.experts, generator=draw, dtype=torch.float64)
        picked = (liked - self.skew * torch.arange(self.experts)).topk(self.chosen, dim=1).indices
        sizes = 0.1 + 0.8 * torch.rand(self.tokens, self.chosen, generator=draw, dtype=torch.float64)
        sizes[1, 0] = 0.003  # chosen, although the router hardly likes it
        gates = torch.zeros_like(liked).scatter(1, picked, sizes)
        return tokens, gates, arriving

    @property
    def what(self) -> str:
        """The case in words."""
        return f"{self.tokens} tokens, {self.experts} experts, {self.chosen} for each token"


def dispatch_cases(seed: int) -> tuple[DispatchCase, ...]:
    """Room for all, an expert that drops tokens, a fractional capacity, experts that nobody chose, and room for one."""
    draw = random.Random(seed)
    tokens, factor = draw.choice(((13, 1.25), (19, 0.75), (19, 1.25)))  # another capacity, if shares are rounded first
    return (
        DispatchCase(10, 6, 4, 2, 4.0, 0.0, seed),
        DispatchCase(draw.choice((16, 20, 24)), 4, 4, 1, 1.0, 0.8, seed + 1),
        DispatchCase(tokens, 5, 6, 2, factor, 0.9, seed + 2),
        DispatchCase(draw.choice((9, 12)), 3, 5, 2, 1.5, -6.0, seed + 3),
        DispatchCase(draw.choice((6, 7)), 4, 8, 1, 1.0, 0.5, seed + 4),
    )


def run_dispatch(dispatch: Callable[..., Any], case: DispatchCase) -> dict[str, Tensor]:
    """Run one layer forward and backward; return its output, and the gradients of tokens, gates and experts."""
    return observe_dispatch(dispatch, case)[0]


def observe_dispatch(dispatch: Callable[..., Any], case: DispatchCase) -> tuple[dict[str, Tensor], list[list[int]]]:
    """Run one layer forward and backward.

    Returns:
        Output and gradients, as `PARTS` names them; and the rows of each call of each expert.
    """
    experts = case.make_experts()
    tokens, gates, arriving = case.draw()
    tokens.requires_grad_()
    gates.requires_grad_()
    calls: list[list[int]] = [[] for _ in experts]
    for place, expert in enumerate(experts):
        expert.register_forward_hook(
            lambda module, inputs, output, place=place: calls[place].append(inputs[0].numel() // case.width)
        )
    given = tokens.detach().clone()
    output = dispatch(tokens, gates, experts, case.capacity_factor)
    if not torch.equal(tokens.detach(), given):
        look_at = (
            "You change the tokens that you were given, which the residual connection still needs. Make a new tensor."
        )
        fail("tokens_changed_in_place", "the argument as it was", "other tokens", look_at)
    require_tensor(output.detach() if isinstance(output, Tensor) else output, "the output", like=arriving)
    if output.requires_grad:
        output.backward(arriving)
    return dict(zip(PARTS, (output.detach(), *_gradients(tokens, gates, experts)), strict=True)), calls


def _gradients(tokens: Tensor, gates: Tensor, experts: nn.ModuleList) -> list[Tensor]:
    def gradient_of(tensor: Tensor) -> Tensor:
        return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad

    of_experts = torch.cat([gradient_of(parameter).flatten() for parameter in experts.parameters()])
    return [gradient_of(tokens), gradient_of(gates), of_experts.detach()]
