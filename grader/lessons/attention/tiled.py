"""Queries, keys and values that an attention written by hand is called on, and what it keeps."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.observing.contract import fail, require_tensor

PARTS = ("output", "query", "key", "value")  # the output, then the gradients
FLOAT32_BYTES = 4
FUSED = ("scaled_dot_product", "flash_attention", "efficient_attention", "_safe_softmax", "multi_head_attention")


@dataclass(frozen=True)
class TiledCase:
    """One attention in float64, forward and backward.

    Attributes:
        rows: Sequences.
        heads: Heads.
        time: Positions.
        head_dim: Features of a head.
        is_causal: Whether a query sees only its own position and those before it.
        tile: Positions of a tile.
        is_transposed: Whether the tensors are views of [rows, time, heads, head_dim], as a model has them.
        seed: Seed of the draw.
    """

    rows: int
    heads: int
    time: int
    head_dim: int
    is_causal: bool
    tile: int
    is_transposed: bool
    seed: int

    def draw(self) -> tuple[Tensor, ...]:
        """Draw query, key and value, and the gradient that arrives at the output: four tensors of one shape."""
        generator = torch.Generator().manual_seed(self.seed)
        shape = (self.rows, self.heads, self.time, self.head_dim)
        if self.is_transposed:
            shape = (self.rows, self.time, self.heads, self.head_dim)
        drawn = [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(4)]
        query, key, value, arriving = (each.transpose(1, 2) if self.is_transposed else each for each in drawn)
        return 2 * query, key, value, arriving

    @property
    def what(self) -> str:
        """The case in words."""
        mask = "causal" if self.is_causal else "no mask"
        return f"{self.time} positions in tiles of {self.tile}, {mask}"


def tiled_cases(seed: int) -> tuple[TiledCase, ...]:
    """Full tiles, a short last tile with a mask, tiles larger than the sequence, and views as a model has them."""
    draw = random.Random(seed)
    time, tile = draw.choice(((13, 5), (17, 3), (11, 4)))
    return (
        TiledCase(1, 2, 12, 4, False, 4, False, seed),
        TiledCase(2, 1, 11, 3, True, 4, False, seed + 1),
        TiledCase(1, 2, draw.randrange(5, 9), 5, draw.choice((True, False)), 16, False, seed + 2),
        TiledCase(2, 3, time, draw.choice((2, 6)), True, tile, True, seed + 3),
        TiledCase(1, 2, time, 7, False, tile, True, seed + 4),
    )


@dataclass(frozen=True)
class MemoryCase:
    """One attention in float32, many times as long as a tile."""

    time: int
    head_dim: int
    tile: int
    is_causal: bool
    seed: int
    heads: int = 8

    def draw(self) -> list[Tensor]:
        """Draw query, key and value [1, heads, time, head_dim], which need gradients."""
        generator = torch.Generator().manual_seed(self.seed)
        shape = (1, self.heads, self.time, self.head_dim)
        return [torch.randn(shape, generator=generator, requires_grad=True) for _ in range(3)]

    @property
    def input_bytes(self) -> int:
        """Bytes of the query, and of the key, and of the value."""
        return FLOAT32_BYTES * self.heads * self.time * self.head_dim

    @property
    def matrix_bytes(self) -> int:
        """Bytes of a number for every pair of positions of every head."""
        return FLOAT32_BYTES * self.heads * self.time**2


def memory_case(seed: int) -> MemoryCase:
    """About 550 positions in tiles of 64; the last tile is short."""
    draw = random.Random(seed)
    return MemoryCase(draw.randrange(530, 570), 8, 64, draw.choice((True, False)), seed)


class _RefuseFused(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Fails where an operator computes attention as a whole, whoever calls it: PyTorch's own softmax of it included."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(part in str(func) for part in FUSED):
            look_at = "You call the fused operator, but the exercise is by hand. Write the loop over the tiles."
            fail("library_attention_used", "attention by hand, tile by tile", f"a call of {func}", look_at)
        return func(*args, **(kwargs or {}))


@contextmanager
def refuse_fused_attention() -> Iterator[None]:
    """Fail the check when the block runs an operator of `scaled_dot_product_attention`."""
    with _RefuseFused():  # type: ignore[no-untyped-call]
        yield


def digest_of(total: Tensor, inputs: list[Tensor]) -> Tensor:
    """Summarise a long attention: the sum of its output, then its gradients, summed over positions by unequal weights.

    Args:
        total: Sum of the output.
        inputs: Query, key and value [1, heads, time, head_dim], whose gradients are digested; None counts as zeros.

    Returns:
        Tensor [1 + 3 * heads * head_dim].
    """
    gradients = torch.stack([torch.zeros_like(each) if each.grad is None else each.grad for each in inputs])
    weights = torch.cos(torch.arange(gradients.shape[-2], dtype=torch.float32)).to(gradients)
    return torch.cat([total.reshape(1), torch.einsum("prhtd,t->phd", gradients, weights).flatten()])


def run_tiled(tiled_attention: Callable[..., Any], case: TiledCase) -> dict[str, Tensor]:
    """Run one case forward and backward; return the output and the three gradients."""
    *drawn, arriving = case.draw()
    inputs = [tensor.detach().requires_grad_() for tensor in drawn]
    output = require_output(tiled_attention(*inputs, case.is_causal, case.tile), inputs[0])
    torch.autograd.backward(output, arriving)
    for name, tensor in zip(PARTS[1:], inputs, strict=True):
        if tensor.grad is None:
            look_at = (
                f"You return no gradient of the {name}. Look at the values that backward returns, and their order."
            )
            fail("gradient_missing", "gradients of query, key and value", f"None for the {name}", look_at)
    gradients = [tensor.grad.detach() for tensor in inputs if tensor.grad is not None]
    return dict(zip(PARTS, (output.detach(), *gradients), strict=True))


def require_output(value: Any, like: Tensor) -> Tensor:
    """Fail unless `value` is a tensor like the query that has a graph; NaN is left to the judge."""
    if isinstance(value, Tensor):
        require_tensor(value.nan_to_num(0.0, 0.0, 0.0).detach(), "the output", like=like)
    else:
        require_tensor(value, "the output", like=like)
    if not value.requires_grad:
        look_at = "You cut the output off from its graph. Look for detach() or no_grad, and call the Function by apply."
        fail("output_without_graph", "an output that needs a gradient", "requires_grad=False", look_at)
    return value  # type: ignore[no-any-return]
