"""Models of unequal blocks that have to meet a budget."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

FLOAT32_BYTES = 4
VOCABULARY = 50
FEW_ROWS = 24  # of the input, where gradients are compared


@dataclass(frozen=True)
class BudgetCase:
    """A model of unequal blocks, and the budget of one forward and backward.

    Attributes:
        hidden: Features inside each block: Linear(width, hidden), GELU, Linear(hidden, width).
        width: Features between blocks.
        batch: Rows of the input; of tokens, where the model embeds them.
        budget_bytes: The most that may be held.
        is_token_model: Whether a first block embeds the tokens.
        dropout: Probability of the dropout at the end of each block; 0 for none.
        seed: Seed of data and weights.
    """

    hidden: tuple[int, ...]
    width: int
    batch: int
    budget_bytes: int
    seed: int
    is_token_model: bool = False
    dropout: float = 0.0

    def make_model(self) -> nn.Sequential:
        """Build the blocks, in train mode."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            blocks = [self._make_block(hidden) for hidden in self.hidden]
            if self.is_token_model:
                blocks.insert(0, nn.Sequential(nn.Embedding(VOCABULARY, self.width)))
        return nn.Sequential(*blocks)

    def _make_block(self, hidden: int) -> nn.Sequential:
        layers: list[nn.Module] = [nn.Linear(self.width, hidden), nn.GELU(), nn.Linear(hidden, self.width)]
        return nn.Sequential(*layers, *([nn.Dropout(self.dropout)] if self.dropout else []))

    def make_inputs(self, rows: int | None = None) -> Tensor:
        """Draw the input [batch, width], or tokens [batch], which need no gradient; or `rows` of them."""
        generator = torch.Generator().manual_seed(self.seed)
        if self.is_token_model:
            return torch.randint(0, VOCABULARY, (self.batch,), generator=generator)[:rows]
        return torch.randn(self.batch, self.width, generator=generator)[:rows].clone()

    @property
    def boundary_bytes(self) -> int:
        """Bytes between two blocks."""
        return FLOAT32_BYTES * self.batch * self.width

    @property
    def kept_bytes(self) -> tuple[int, ...]:
        """Bytes that backward needs of each block besides its input: two tensors inside, and a dropout's mask."""
        mask = self.boundary_bytes if self.dropout else 0
        interior = [2 * FLOAT32_BYTES * self.batch * hidden + mask for hidden in self.hidden]
        return (0, *interior) if self.is_token_model else tuple(interior)

    @property
    def fixed_bytes(self) -> int:
        """Bytes of all parameters and of their gradients."""
        hidden = sum(2 * self.width * hidden + hidden + self.width for hidden in self.hidden)
        return 2 * FLOAT32_BYTES * (hidden + (VOCABULARY * self.width if self.is_token_model else 0))


def budget_cases(seed: int) -> tuple[BudgetCase, ...]:
    """Draw four settings: dropout, tokens with wide inputs, large parameters, and a budget with room to spare."""
    draw = random.Random(seed)
    small = [draw.choice((16, 24, 32)) for _ in range(4)]
    heavy, last = [draw.randrange(320, 341) for _ in range(3)], draw.randrange(368, 385)
    batch = 512 * draw.randrange(9, 11)
    dropout = BudgetCase((heavy[0], small[0], *heavy[1:], small[1], last), 32, batch, 0, seed, dropout=0.1)
    middle = (draw.randrange(198, 205), draw.randrange(178, 185), draw.randrange(156, 163))
    tokens = BudgetCase((*middle, draw.randrange(348, 357), last), 128, batch, 0, seed + 1, is_token_model=True)
    wide = BudgetCase((small[2], 1536 + small[3], small[3], 1088), 256, 768, 0, seed + 2)
    lightest = min((0, 2, 3), key=lambda index: dropout.kept_bytes[index])
    return (
        _with_budget(dropout, _load(dropout, (1, 4), 5), _load(dropout, (1, 4, lightest), 5), 0.66),
        _with_budget(tokens, _load(tokens, (1, 2, 3), 5), _load(tokens, (1, 2, 3, 4), 5), 0.18),
        _with_budget(wide, _load(wide, (0,), 1), _load(wide, (0, 1, 2), 3), 0.22),
        _with_budget(dropout, 0, _load(dropout, range(5), 5), 1.15),
    )


def _load(case: BudgetCase, held: Iterable[int], at_work: int) -> int:
    """Return the bytes of a block at work in backward, of some blocks before it, and of all that is always there."""
    kept = case.kept_bytes
    waiting = sum(kept[index] for index in held) + (at_work + 2) * case.boundary_bytes
    return case.fixed_bytes + waiting + 3 * kept[at_work] // 2  # one gradient inside comes on top, half as large


def _with_budget(case: BudgetCase, low: int, high: int, share: float) -> BudgetCase:
    """Set the budget at a share of the way between two loads."""
    return replace(case, budget_bytes=int(low + share * (high - low)))
