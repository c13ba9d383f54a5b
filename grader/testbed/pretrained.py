"""Hugging Face models in the shapes of published ones, built from their config with seeded weights: no download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch

from grader.testbed.extras import import_train_extra

if TYPE_CHECKING:
    from transformers import BertForSequenceClassification, DistilBertForSequenceClassification

Attention = Literal["eager", "sdpa"]

CASED_VOCABULARY = 28_996
UNCASED_VOCABULARY = 30_522
PAIR_WIDTH = 128


def make_distilbert(
    *, attention: Attention = "sdpa", dropout: float | None = None, seed: int = 0
) -> DistilBertForSequenceClassification:
    """Build a classifier in the shape of distilbert-base-cased: 65,783,042 parameters in 104 tensors.

    Args:
        attention: "eager" or "sdpa".
        dropout: Every dropout probability; those of the published config if left out (0.1, and 0.2 before the head).
        seed: Seed of the weights. The global random state stays as it was.

    Source: config.json of distilbert/distilbert-base-cased on the Hugging Face hub.
    """
    settings: dict[str, Any] = {"vocab_size": CASED_VOCABULARY}
    if dropout is not None:
        settings |= dict.fromkeys(("dropout", "attention_dropout", "seq_classif_dropout"), dropout)
    transformers = import_train_extra("transformers")
    return _build(transformers.DistilBertConfig(**settings), attention, seed)


def make_bert(
    layers: int = 2,
    hidden: int = 128,
    heads: int = 2,
    *,
    vocabulary: int = UNCASED_VOCABULARY,
    longest_time: int = 512,
    attention: Attention = "eager",
    dropout: float = 0.1,
    initializer_range: float = 0.02,
    seed: int = 0,
) -> BertForSequenceClassification:
    """Build a BERT classifier with two labels.

    Args:
        layers: Encoder layers.
        hidden: Features of a position; the feed-forward network has four times as many.
        heads: Attention heads in a layer.
        vocabulary: Tokens that it embeds.
        longest_time: The longest row that it can read.
        attention: "eager" or "sdpa".
        dropout: Every dropout probability.
        initializer_range: Standard deviation of the first weights.
        seed: Seed of the weights. The global random state stays as it was.
    """
    transformers = import_train_extra("transformers")
    config = transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * hidden,
        max_position_embeddings=longest_time,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        initializer_range=initializer_range,
    )
    return _build(config, attention, seed)


def make_bert_large(
    *, layers: int = 24, attention: Attention = "eager", dropout: float = 0.1, seed: int = 0
) -> BertForSequenceClassification:
    """Build a classifier in the shape of bert-large-uncased: 335,143,938 parameters.

    Args:
        layers: Encoder layers; fewer than 24 keep the width of BERT-large.
        attention: "eager" or "sdpa".
        dropout: Every dropout probability.
        seed: Seed of the weights. The global random state stays as it was.

    Source: config.json of google-bert/bert-large-uncased on the Hugging Face hub.
    """
    return make_bert(layers, hidden=1024, heads=16, attention=attention, dropout=dropout, seed=seed)


def make_pair_classifier(
    *, dropout: float = 0.0, attention: Attention = "sdpa", seed: int = 0
) -> BertForSequenceClassification:
    """Build the classifier for the built-in sentence pairs: BERT with two layers of width 128.

    It learns them within 7,200 examples with AdamW at lr 2e-4 and batch 16, from scratch.

    Args:
        dropout: Every dropout probability.
        attention: "eager" or "sdpa".
        seed: Seed of the weights. The global random state stays as it was.
    """
    from grader.testbed.tokenizer import LONGEST_PAIR_TOKENS, make_tokenizer

    model = make_bert(
        hidden=PAIR_WIDTH,
        vocabulary=len(make_tokenizer()),
        longest_time=LONGEST_PAIR_TOKENS,
        attention=attention,
        dropout=dropout,
        initializer_range=PAIR_WIDTH**-0.5,
        seed=seed,
    )
    # BERT's own 0.02 lets almost nothing of a token reach the first position at this width: training stands still
    # for thousands of examples. Layers start at width**-0.5 instead, and embeddings small, which are normalised
    # before use: AdamW then turns them quickly, and words of one subject find each other.
    with torch.no_grad():
        for table in (model.bert.embeddings.word_embeddings, model.bert.embeddings.token_type_embeddings):
            table.weight.mul_(1 / 20)
        model.bert.embeddings.position_embeddings.weight.mul_(1 / 100)
    return model


def _build(config: Any, attention: Attention, seed: int) -> Any:
    """Draw the weights of a sequence classifier in train mode, as a new torch module is."""
    transformers = import_train_extra("transformers")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation=attention)
    return model.train()
