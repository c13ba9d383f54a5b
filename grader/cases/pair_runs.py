"""The model and the sentence pairs that several lessons train in a raw loop, with Accelerate and with the Trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from grader.testbed.pretrained import make_bert
from grader.testbed.sentence_pairs import make_sentence_pairs
from grader.testbed.tokenizer import LONGEST_PAIR_TOKENS, make_tokenizer, tokenize_pairs

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import BertForSequenceClassification


def make_run_model(seed: int) -> BertForSequenceClassification:
    """Build a one-layer BERT classifier for the built-in tokenizer, without dropout, in train mode.

    Its matrices are five times as large as usual: then rows differ, their gradients do not cancel down to rounding
    errors, and a clipping to norm 1 shows.
    """
    vocabulary = len(make_tokenizer())
    model = make_bert(1, 32, 2, vocabulary=vocabulary, longest_time=LONGEST_PAIR_TOKENS, dropout=0.0, seed=seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(5 if parameter.dim() > 1 else 1)
    return model


def make_run_dataset(pairs: int, seed: int) -> Dataset:
    """Write and tokenize so many pairs."""
    written = make_sentence_pairs(seed=seed, pairs=pairs + pairs % 2)
    return tokenize_pairs(written.select(range(pairs)), make_tokenizer())
