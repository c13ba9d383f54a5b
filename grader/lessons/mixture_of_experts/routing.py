"""Router logits, for a loss that balances experts and for a bias that does."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.observing.contract import fail, require_tensor


@dataclass(frozen=True)
class RoutingCase:
    """The logits that a router gives one batch of tokens.

    Attributes:
        tokens: How many tokens there are.
        experts: How many experts there are.
        chosen: Experts that a token is sent to.
        skew: How much the router prefers the first experts.
        rate: By how much a bias changes.
        seed: Seed of logits and bias.
        is_even: Whether each expert is preferred by as many tokens as any other.
        bias: How far the biases of the experts are apart.
    """

    tokens: int
    experts: int
    chosen: int
    skew: float
    rate: float
    seed: int
    is_even: bool = False
    bias: float = 0.2

    def draw_logits(self) -> Tensor:
        """Draw the logits [tokens, experts]."""
        draw = torch.Generator().manual_seed(self.seed)
        logits = torch.randn(self.tokens, self.experts, generator=draw, dtype=torch.float64)
        if self.is_even:
            preferred = torch.arange(self.tokens) % self.experts
            return 8 * torch.nn.functional.one_hot(preferred, self.experts) + 0.5 * logits
        return logits - self.skew * torch.arange(self.experts, dtype=torch.float64)

    def draw_bias(self) -> Tensor:
        """Draw the bias [experts], large enough to change choices."""
        draw = torch.Generator().manual_seed(self.seed + 1)
        return self.bias * torch.randn(self.experts, generator=draw, dtype=torch.float64)

    def draw_weights(self) -> Tensor:
        """Draw what the gates are multiplied by, to have a gradient [tokens, experts]."""
        draw = torch.Generator().manual_seed(self.seed + 2)
        return torch.randn(self.tokens, self.experts, generator=draw, dtype=torch.float64)


def routing_cases(seed: int) -> tuple[RoutingCase, ...]:
    """A router that prefers some experts, several choices among other numbers, and experts that are even."""
    draw = random.Random(seed)
    return (
        RoutingCase(32, 8, 1, 0.6, 0.05, seed),
        # Loads right above and right below a mean that is a fraction.
        RoutingCase(draw.randrange(25, 36), 24, 2, 0.0, 0.02, seed + 10, bias=0.02),
        RoutingCase(draw.randrange(20, 30), draw.choice((5, 7)), 3, 0.4, draw.choice((0.02, 0.1)), seed + 20),
        RoutingCase(12, draw.choice((3, 6)), 1, 0.0, 0.03, seed + 30, is_even=True),
        RoutingCase(33, draw.choice((14, 16)), draw.choice((2, 4)), 0.1, 0.04, seed + 40, bias=0.02),
    )


def run_balance_loss(balance_loss: Callable[..., Any], case: RoutingCase) -> dict[str, Tensor]:
    """Compute one loss and the gradient of the logits [tokens, experts]."""
    logits = case.draw_logits().requires_grad_()
    loss = balance_loss(logits, case.chosen)
    loss.backward()
    gradient = torch.zeros_like(logits) if logits.grad is None else logits.grad
    return {"loss": loss.detach().double(), "gradient": gradient}


def require_balance(value: Any) -> Any:
    """Fail unless a loss is a scalar with a graph."""
    is_real = isinstance(value, Tensor) and value.is_floating_point()
    like = torch.zeros((), dtype=value.dtype if is_real else torch.float64)
    require_tensor(value.detach() if isinstance(value, Tensor) else value, "the loss", like=like)
    if not value.requires_grad:
        look_at = "Your loss has no gradient, since counts have none. Which of the two factors can the router change?"
        fail("balance_without_gradient", "a loss with a gradient", "requires_grad=False", look_at)
    return value


def run_route(route_with_bias: Callable[..., Any], case: RoutingCase) -> dict[str, Tensor]:
    """Route one batch; return gates, the gradient of the logits [tokens, experts], and the new bias."""
    logits, bias = case.draw_logits().requires_grad_(), case.draw_bias()
    gates, new_bias = route_with_bias(logits, bias, case.chosen, case.rate)
    (gates * case.draw_weights()).sum().backward()
    gradient = torch.zeros_like(logits) if logits.grad is None else logits.grad
    return {"gates": gates.detach(), "gradient": gradient, "bias": new_bias.detach()}


def require_route(route_with_bias: Callable[..., Any], case: RoutingCase) -> dict[str, Tensor]:
    """Route one batch, and fail where the answer has another form."""

    def route(logits: Tensor, bias: Tensor, chosen: int, rate: float) -> Any:
        before = bias.clone()
        answer = route_with_bias(logits, bias, chosen, rate)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            measured = f"{len(answer)} values" if isinstance(answer, tuple | list) else type(answer).__name__
            fail("no_pair_returned", "the gates, then the new bias", measured, "Return both, in this order.")
        gates, new_bias = answer
        if all(isinstance(value, Tensor) for value in answer) and gates.shape == bias.shape != logits.shape:
            look_at = "You return the two results in the other order. Return the gates, then the new bias."
            fail("results_exchanged", "the gates, then the new bias", "the new bias first", look_at)
        if isinstance(new_bias, Tensor) and new_bias.is_floating_point():
            new_bias = new_bias.to(bias.dtype)
        require_tensor(gates.detach() if isinstance(gates, Tensor) else gates, "the gates", like=logits.detach())
        require_tensor(new_bias.detach() if isinstance(new_bias, Tensor) else new_bias, "the new bias", like=bias)
        if not gates.requires_grad:
            look_at = "Your gates have no gradient, so the router would never learn. Look for detach() or integers."
            fail("gates_without_gradient", "gates with a gradient", "requires_grad=False", look_at)
        if not torch.equal(before, bias):
            look_at = "You change the bias that you were given. Return a new tensor."
            fail("bias_changed_in_place", "the argument as it was", "another bias", look_at)
        return gates, new_bias

    return run_route(route, case)
