"""Models of unequal blocks that have to meet a budget."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import combinations

import torch
from torch import Tensor, nn

FLOAT32_BYTES = 4
VOCABULARY = 50
ROOM = 0.35  # of the way from a peak that meets the budget to one that does not
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
        recomputed: How many blocks have to run forward twice to meet the budget.
        seed: Seed of data and weights.
    """

    hidden: tuple[int, ...]
    width: int
    batch: int
    budget_bytes: int
    seed: int
    is_token_model: bool = False
    dropout: float = 0.0
    recomputed: int = 0

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

    def peak_bytes(self, recomputed: Collection[int], *, is_work_counted: bool = True) -> int:
        """Return the peak when some blocks are recomputed, each in its own checkpoint.

        Backward comes to the blocks from the last to the first. When it comes to one, all that backward needs of it is
        there, recomputed or not, and of the blocks before it what was kept. Within the block one gradient comes on top,
        half as large as what backward needs of it; it can be left out to see what that changes.
        """
        fullest = kept = 0
        for index, own_bytes in enumerate(self.kept_bytes):
            boundaries = (index + 2) * self.boundary_bytes  # the inputs up to here, and the output of the block
            work_bytes = own_bytes // 2 if is_work_counted else 0
            fullest = max(fullest, boundaries + kept + own_bytes + work_bytes)
            kept += 0 if index in recomputed else own_bytes
        return self.fixed_bytes + fullest

    def lowest_peak_bytes(self, recomputed: int) -> int:
        """Return the lowest peak that so many recomputed blocks reach."""
        return min(self.peak_bytes(chosen) for chosen in combinations(range(len(self.kept_bytes)), recomputed))


def budget_cases(seed: int) -> tuple[BudgetCase, ...]:
    """Three settings; in none of them the largest blocks are the right ones.

    Two large blocks have to be recomputed, and the last block, the largest, is of no use; one block has to be, and the
    larger one after it is of no use; and everything fits.
    """
    draw = random.Random(seed)
    small = [draw.choice((16, 24, 32, 48)) for _ in range(6)]
    middle, large, last = draw.randrange(320, 337), draw.randrange(344, 361), draw.randrange(368, 385)
    heavy = draw.sample([middle, large], 2)
    batch = 512 * draw.randrange(10, 13)
    last_heavy = BudgetCase((small[0], heavy[0], small[1], heavy[1], small[2], last), 64, batch, 0, seed, dropout=0.1)
    tokens = BudgetCase((large, small[3], last, small[4], small[5]), 64, batch, 0, seed + 1, is_token_model=True)
    return (
        _with_budget(last_heavy, recomputed=2),
        _with_budget(tokens, recomputed=1),
        _with_budget(last_heavy, recomputed=0),
    )


def _with_budget(case: BudgetCase, recomputed: int) -> BudgetCase:
    """Set a budget that so many recomputed blocks meet, and fewer do not; the room is for buffers."""
    lowest = case.lowest_peak_bytes(recomputed)
    highest = case.lowest_peak_bytes(recomputed - 1) if recomputed else 1.4 * lowest
    budget_bytes = int(lowest + ROOM * (highest - lowest))
    return replace(case, budget_bytes=budget_bytes, recomputed=recomputed)
