"""A small language model, written to be read."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SelfAttention(nn.Module):
    """Causal self-attention: a position attends to itself and to earlier ones, or to what a mask lets it see."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mix the positions of states [batch, time, width]; a mask [time, time] is True where a row sees a column."""
        batch, time, width = states.shape
        mixed = self.query_key_value(states).view(batch, time, 3, self.heads, width // self.heads)
        query, key, value = mixed.permute(2, 0, 3, 1, 4)  # each [batch, heads, time, head_dim]
        dropout = self.dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout, is_causal=mask is None)
        output: Tensor = self.output(attended.transpose(1, 2).reshape(batch, time, width))
        return output


class Block(nn.Module):
    """Attention, then a feed-forward network; each normalises its input and adds to it."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, dropout)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Update states [batch, time, width]."""
        states = states + self.dropout(self.attention(self.attention_norm(states), mask))
        updated: Tensor = states + self.dropout(self.feed_forward(self.feed_forward_norm(states)))
        return updated


class SmallTransformer(nn.Module):
    """A decoder-style language model: embeddings, blocks, and a head that scores every token of the vocabulary."""

    def __init__(
        self, layers: int, width: int, heads: int, vocabulary: int, context: int, dropout: float, is_head_tied: bool
    ):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(context, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.final_norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        # Embeddings of standard deviation 1 would make the first logits of a tied head very large.
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        nn.init.normal_(self.position_embedding.weight, std=0.02)
        if is_head_tied:
            self.head.weight = self.token_embedding.weight

    def forward(self, tokens: Tensor, positions: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Score the next token at every position of tokens [batch, time]; return logits [batch, time, vocabulary].

        Args:
            tokens: Token numbers, [batch, time].
            positions: The position of each token in its text, [time]; 0, 1, 2, ... if left out.
            mask: True where a position (row) attends to another (column), [time, time]; causal if left out.
        """
        if positions is None:
            positions = torch.arange(tokens.shape[1], device=tokens.device)
        states = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for block in self.blocks:
            states = block(states) if mask is None else block(states, mask)
        logits: Tensor = self.head(self.final_norm(states))
        return logits


def make_transformer(
    layers: int = 2,
    width: int = 128,
    heads: int = 4,
    *,
    vocabulary: int = 256,
    context: int = 128,
    dropout: float = 0.0,
    is_head_tied: bool = False,
    seed: int = 0,
) -> SmallTransformer:
    """Build a seeded small transformer on the CPU, in train mode.

    Args:
        layers: How many blocks.
        width: Features of a position; a multiple of `heads`.
        heads: Attention heads in a block.
        vocabulary: Token numbers run from 0 to `vocabulary` - 1.
        context: The longest time that it can read.
        dropout: Probability of dropping, in all blocks and after the embeddings.
        is_head_tied: Whether the head shares the weight of the token embedding.
        seed: Seed of the weights. The global random state stays as it was.

    Raises:
        ValueError: if `width` is not a multiple of `heads`.
    """
    if width % heads:
        raise ValueError(f"width {width} is not a multiple of heads {heads}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SmallTransformer(layers, width, heads, vocabulary, context, dropout, is_head_tied)
