"""Sentence pairs for a classifier: are both sentences about the same subject?

The task needs both sentences: each is drawn from its subject alone, and subjects balance in both classes, so that
neither sentence by itself, nor the counts of words, nor the length tells the label. Pairs of one subject do share
words more often. A rule that asks for one shared noun, verb or place is right for 87 % of the pairs; a trained model
is right for more, since it learns which words belong together.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from grader.testbed.extras import import_train_extra
from grader.testbed.subjects import SUBJECTS, Subject

if TYPE_CHECKING:
    from datasets import Dataset

Split = Literal["train", "validation"]
Word = TypeVar("Word")

PAIRS = {"train": 2400, "validation": 480}
LABELS = ("different_subject", "same_subject")
TIMES = ("today", "on Monday", "at noon", "this week")
TEMPLATES = (
    "{agent} {past} {object} {place}.",
    "{time}, {agent} {past} {object} {place}.",
    "{place}, {agent} {past} {object}.",
    "{object} was {past} by {agent} {place}.",
    "While {agent} {past} {object}, {agent2} {past2} {object2}.",
    "{agent} {past} {object} without {gerund2} {object2}.",
    "Nobody saw {agent} {gerund} {object} {place}.",
    "{gerund} {object} {place} calls for patience.",
    "{object} is {past}, but {object2} is not.",
    "Has {agent} ever {past} {object} {place}?",
    "{agent}, who {past} {object}, likes {gerund2} {object2}.",
    "If {object} is {past} {place}, {agent} is glad.",
    "We met {agent} {place}, where {object} was {past}.",
    "{agent} and {agent2} plan to {base} {object} {time}.",
)
# One sentence in five belongs to validation, whatever the seed: no sentence is ever in both splits.
VALIDATION_SHARE = 5


def make_sentence_pairs(split: Split = "train", *, seed: int = 0, pairs: int | None = None) -> Dataset:
    """Write sentence pairs, half of them about one subject.

    No sentence occurs in both splits, whatever their seeds.

    Args:
        split: "train" or "validation".
        seed: Seed of the sentences and of their order.
        pairs: How many; an even number. 2,400 and 480 if left out.

    Returns:
        A Dataset in memory with columns sentence1, sentence2, label (1 for the same subject) and idx.

    Raises:
        ValueError: if the split is unknown, or the labels cannot be balanced.
        ImportError: if `datasets` is missing.
    """
    if split not in PAIRS:
        raise ValueError(f"split is {split!r}: choose one of {', '.join(PAIRS)}")
    count = PAIRS[split] if pairs is None else pairs
    if count < 2 or count % 2:
        raise ValueError(f"pairs is {count}: choose an even number of at least 2, so that the labels balance")
    datasets = import_train_extra("datasets")
    rows = list(_draw_pairs(split, seed, count))
    random.Random(f"order {split} {seed}").shuffle(rows)
    first, second, labels = zip(*rows, strict=True)
    columns = {"sentence1": first, "sentence2": second, "label": labels, "idx": range(count)}
    features = datasets.Features(
        sentence1=datasets.Value("string"),
        sentence2=datasets.Value("string"),
        label=datasets.ClassLabel(names=list(LABELS)),
        idx=datasets.Value("int32"),
    )
    return datasets.Dataset.from_dict({name: list(values) for name, values in columns.items()}, features=features)


def _draw_pairs(split: Split, seed: int, count: int) -> Iterator[tuple[str, str, int]]:
    """Draw pairs whose subjects stand equally often first and second, in both classes."""
    draw = random.Random(f"{split} {seed}")
    subjects = len(SUBJECTS)
    for index in range(count // 2):
        own, turn = index % subjects, index // subjects
        other = (own + 1 + turn % (subjects - 1)) % subjects
        for partner in (own, other):
            first, second = (_draw_sentence(SUBJECTS[subject], split, draw) for subject in (own, partner))
            yield first, second, int(partner == own)


def _draw_sentence(subject: Subject, split: Split, draw: random.Random) -> str:
    """Draw sentences about a subject until one belongs to the split."""
    while True:
        sentence = draw.choice(TEMPLATES).format(**_draw_words(subject, draw))
        sentence = sentence[0].upper() + sentence[1:]
        is_validation = zlib.crc32(sentence.encode()) % VALIDATION_SHARE == 0
        if is_validation == (split == "validation"):
            return sentence


def _draw_words(subject: Subject, draw: random.Random) -> dict[str, str]:
    """Draw a word for every slot of the templates; the slots with a 2 hold other words than those without."""
    words = {"place": _draw_two(subject.places, draw)[0], "time": draw.choice(TIMES)}
    words["agent"], words["agent2"] = _draw_two(subject.agents, draw)
    words["object"], words["object2"] = _draw_two(subject.objects, draw)
    for suffix, verb in zip(("", "2"), _draw_two(subject.verbs, draw), strict=True):
        words |= {f"{form}{suffix}": word for form, word in verb._asdict().items()}
    return words


def _draw_two(words: Sequence[Word], draw: random.Random) -> tuple[Word, Word]:
    """Draw two different words; frequency falls as one over the rank, as in real text (Zipf's law)."""
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    first, second = draw.choices(words, weights, k=2)
    while second == first:
        second = draw.choices(words, weights)[0]
    return first, second
