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
TERMS = ("work", "inputs", "parameters", "block")  # of a peak: work is the gradient inside the block at work
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

    def peak_bytes(self, recomputed: Collection[int], *, left_out: str = "") -> int:
        """Return the peak when some blocks are recomputed, each in its own checkpoint.

        Backward comes to the blocks from the last to the first. When it comes to one, all that backward needs of it is
        there, recomputed or not, and of the blocks before it what was kept. Within the block one gradient comes on top,
        half as large as what backward needs of it.

        Args:
            recomputed: Blocks that run twice.
            left_out: What is not counted, out of `TERMS`, to see what a slip changes; "" for nothing.

        Returns:
            Bytes, with the gradients of all parameters: an upper limit, those of early blocks come last.
        """
        fullest = kept = 0
        for index, own_bytes in enumerate(self.kept_bytes):
            inputs = 0 if left_out == "inputs" else index + 1  # up to here; one more boundary is the output
            at_work = {"work": 1.0, "block": 0.0}.get(left_out, 1.5) * own_bytes
            fullest = max(fullest, (inputs + 1) * self.boundary_bytes + kept + int(at_work))
            kept += 0 if index in recomputed else own_bytes
        return fullest + (0 if left_out == "parameters" else self.fixed_bytes)

    def lowest_peak_bytes(self, recomputed: int) -> int:
        """Return the lowest peak that so many recomputed blocks reach."""
        return min(self.peak_bytes(chosen) for chosen in combinations(range(len(self.kept_bytes)), recomputed))


def budget_cases(seed: int) -> tuple[BudgetCase, ...]:
    """Four settings; in the first two the largest block is of no use, and each budget lies where one slip shows.

    Three blocks have to be recomputed, the first among them, which a reentrant checkpoint leaves without gradients; the
    room is less than half a block. One large block has to be, where two smaller ones would do as well, which a search
    in another order finds; the inputs of the blocks are large. One block has to be, in a model with large parameters.
    And everything fits.
    """
    draw = random.Random(seed)
    small = [draw.choice((16, 24, 32)) for _ in range(4)]
    heavy, last = [draw.randrange(320, 341) for _ in range(3)], draw.randrange(368, 385)
    batch = 512 * draw.randrange(9, 11)
    first_heavy = BudgetCase((heavy[0], small[0], *heavy[1:], small[1], last), 32, batch, 0, seed, dropout=0.1)
    middle = (draw.randrange(198, 205), draw.randrange(178, 185), draw.randrange(156, 163))
    tokens = BudgetCase((*middle, draw.randrange(348, 357), last), 128, batch, 0, seed + 1, is_token_model=True)
    wide = BudgetCase((small[2], 1536 + small[3], small[3], 1088), 256, 1024, 0, seed + 2)
    return (
        _with_budget(first_heavy, 3, 0.66),
        _with_budget(tokens, 1, 0.18),
        _with_budget(wide, 1, 0.3),
        replace(first_heavy, budget_bytes=int(1.15 * first_heavy.peak_bytes(()))),
    )


def _with_budget(case: BudgetCase, recomputed: int, share: float) -> BudgetCase:
    """Set a budget that so many recomputed blocks meet, and fewer do not, at a share of the way between the two."""
    lowest, highest = case.lowest_peak_bytes(recomputed), case.lowest_peak_bytes(recomputed - 1)
    return replace(case, budget_bytes=int(lowest + share * (highest - lowest)), recomputed=recomputed)
