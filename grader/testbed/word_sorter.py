"""A classifier of short texts that is learned in seconds: rare words decide, and optimizers differ on them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WORDS_PER_TEXT = 8
Batch = tuple[Tensor, Tensor]


class ResidualBlock(nn.Module):
    """A normalisation and two matrices with their biases, added to the identity."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, inputs: Tensor) -> Tensor:
        """Map [rows, width] to [rows, width]."""
        outputs: Tensor = inputs + self.down(F.gelu(self.up(self.norm(inputs))))
        return outputs


class WordSorter(nn.Module):
    """An embedding, residual blocks on the mean of a text's words, and a head; returns the mean loss."""

    def __init__(self, vocabulary: int, width: int, hidden: int, blocks: int, classes: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.Sequential(*(ResidualBlock(width, hidden) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)
        with torch.no_grad():
            self.embedding.weight.mul_(0.05)

    def forward(self, words: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy of texts [rows, words] with labels [rows]."""
        logits = self.head(self.norm(self.blocks(self.embedding(words).mean(dim=1))))  # [rows, classes]
        return F.cross_entropy(logits, labels)


def make_word_sorter(
    vocabulary: int = 4096, width: int = 64, hidden: int = 128, *, blocks: int = 3, classes: int = 32, seed: int = 0
) -> WordSorter:
    """Build a classifier of texts.

    Args:
        vocabulary: Words that it embeds.
        width: Features of a text.
        hidden: Features inside a block.
        blocks: Residual blocks.
        classes: Kinds of texts.
        seed: Seed of the weights. The global random state stays as it was.

    Returns:
        A module; `model(words, labels)` is its mean loss.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return WordSorter(vocabulary, width, hidden, blocks, classes)


def make_word_batches(
    count: int, *, rows: int = 32, vocabulary: int = 4096, classes: int = 32, seed: int = 0, draw: int = 0
) -> list[Batch]:
    """Draw texts of eight words.

    Each word belongs to one class. Half of a text's words belong to the text's class, the others are any words. A word
    is as frequent as one over its rank, as in real text (Zipf's law), so most words are rare.

    Args:
        count: Batches.
        rows: Texts in a batch.
        vocabulary: Different words.
        classes: Kinds of texts.
        seed: Seed of the task: which word belongs to which class.
        draw: Another draw of texts of the same task.

    Returns:
        For each batch words [rows, 8] and labels [rows].
    """
    class_of = torch.randint(classes, (vocabulary,), generator=torch.Generator().manual_seed(seed))
    generator = torch.Generator().manual_seed(1_000_003 * (seed + 1) + draw)
    frequencies = 1 / torch.arange(1, vocabulary + 1)
    own = [torch.where(class_of == kind, frequencies, 0.0) for kind in range(classes)]
    half = WORDS_PER_TEXT // 2
    batches = []
    for _ in range(count):
        labels = torch.randint(classes, (rows,), generator=generator)
        telling = torch.multinomial(torch.stack([own[label] for label in labels]), half, True, generator=generator)
        others = torch.multinomial(frequencies, rows * half, True, generator=generator).view(rows, half)
        batches.append((torch.cat([telling, others], dim=1), labels))
    return batches


def batch_number(words: Tensor) -> int:
    """Return a number that tells a batch of words [rows, 8] from others."""
    return int(words.long().square().sum())
