"""Seeded batches of tokens for a language model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

# The value that torch.nn.functional.cross_entropy leaves out of its mean (its `ignore_index`).
IGNORED_TARGET = -100


def make_token_batch(
    batch: int, time: int, vocabulary: int, *, seed: int, device: torch.device | str | None = None
) -> tuple[Tensor, Tensor]:
    """Draw tokens and their next tokens.

    Args:
        batch: Rows.
        time: Positions in a row.
        vocabulary: Token numbers run from 0 to `vocabulary` - 1.
        seed: Seed of the tokens; every device gets the same ones.
        device: Where the tensors lie; the CPU if left out, as the models do.

    Returns:
        tokens [batch, time] and targets [batch, time], int64; a target is the token that follows.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(vocabulary, (batch, time + 1), generator=generator)
    # Copies, so that each tensor owns exactly its own bytes.
    return drawn[:, :-1].clone().to(device or "cpu"), drawn[:, 1:].clone().to(device or "cpu")


def make_padded_batch(
    lengths: Sequence[int],
    time: int,
    vocabulary: int,
    *,
    seed: int,
    device: torch.device | str | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw rows of unequal lengths, padded at the end to one time.

    Args:
        lengths: How many targets each row has; the rest is padding.
        time: Positions in a row.
        vocabulary: Token numbers run from 0 to `vocabulary` - 1; padding is token 0.
        seed: Seed of the tokens.
        device: Where the tensors lie; the CPU if left out, as the models do.

    Returns:
        tokens [batch, time] and targets [batch, time], int64; a target is -100 at padding.

    Raises:
        ValueError: if a length is negative or more than `time`.
    """
    if not all(0 <= length <= time for length in lengths):
        raise ValueError(f"lengths {list(lengths)}: each must be from 0 to time, {time}")
    tokens, targets = make_token_batch(len(lengths), time, vocabulary, seed=seed)
    is_padding = torch.arange(time) >= torch.tensor(lengths).unsqueeze(1)  # [batch, time]
    tokens, targets = tokens.masked_fill(is_padding, 0), targets.masked_fill(is_padding, IGNORED_TARGET)
    return tokens.to(device or "cpu"), targets.to(device or "cpu")
