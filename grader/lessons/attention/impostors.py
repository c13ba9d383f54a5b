"""Functions that claim to be exact attention; some of them look through a window, or keep a matrix, or worse."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

NARROWEST, WIDEST = 4, 32  # windows
FAULTS = ("window", "scale", "mask_after_softmax", "matrix_kept")

Attend = Callable[[Tensor, Tensor, Tensor, bool], Tensor]


@dataclass(frozen=True)
class ImpostorCase:
    """One attention, and what is wrong with it.

    Attributes:
        window: Largest distance of a key that a query sees; 0 for no window.
        is_scaled: Whether scores are divided by the square root of the features.
        is_masked_before: Whether the causal mask hides scores, and not weights.
        is_recomputed: Whether backward computes the weights again, and nothing quadratic is kept.
        copies: Copies of the query that are kept in addition; no fault, because they grow with the time alone.
    """

    window: int = 0
    is_scaled: bool = True
    is_masked_before: bool = True
    is_recomputed: bool = True
    copies: int = 0

    def make_attention(self) -> Attend:
        """Return `attend(query, key, value, is_causal)` that does this."""

        def attend(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
            if not self.is_recomputed:
                return self.compute(query, key, value, is_causal)
            outputs: Tensor = _Recomputed.apply(self, query, key, value, is_causal)  # type: ignore[no-untyped-call]
            return outputs

        return attend

    def compute(self, query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
        """Compute the attention with the faults of the case."""
        scores = query @ key.mT * (query.shape[-1] ** -0.5 if self.is_scaled else 1.0)
        place = torch.arange(query.shape[-2], device=query.device)
        distance = place[:, None] - place
        if self.window:
            scores = scores.masked_fill(distance.abs() > self.window, -torch.inf)
        if is_causal and self.is_masked_before:
            scores = scores.masked_fill(distance < 0, -torch.inf)
        weights = scores.softmax(dim=-1)
        if is_causal and not self.is_masked_before:
            weights = weights * (distance >= 0)
        return weights @ value


class _Recomputed(torch.autograd.Function):
    """Keeps the inputs, and copies where the case has some, but no matrix."""

    @staticmethod
    def forward(ctx: Any, case: ImpostorCase, query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
        ctx.case, ctx.is_causal = case, is_causal
        ctx.save_for_backward(query, key, value, *(query.clone() for _ in range(case.copies)))
        return case.compute(query, key, value, is_causal)

    @staticmethod
    def backward(ctx: Any, *arriving: Any) -> tuple[Tensor | None, ...]:
        inputs = [saved.detach().requires_grad_() for saved in ctx.saved_tensors[:3]]
        with torch.enable_grad():
            outputs = ctx.case.compute(*inputs, ctx.is_causal)
        return None, *torch.autograd.grad(outputs, inputs, arriving), None


def impostor_cases(seed: int) -> tuple[ImpostorCase, ...]:
    """Ten functions in some order: two sound ones, each fault alone, and four with several."""
    draw = random.Random(seed)
    window = draw.randint(NARROWEST, WIDEST)
    functions = [
        ImpostorCase(),
        ImpostorCase(copies=64),
        ImpostorCase(window=WIDEST),
        ImpostorCase(is_scaled=False),
        ImpostorCase(is_masked_before=False),
        ImpostorCase(is_recomputed=False),
        ImpostorCase(window=NARROWEST, is_recomputed=False),
        ImpostorCase(window=window, is_scaled=False),
        ImpostorCase(is_scaled=False, is_masked_before=False),
        ImpostorCase(window=window, is_scaled=False, is_masked_before=False, is_recomputed=False),
    ]
    return tuple(draw.sample(functions, len(functions)))
