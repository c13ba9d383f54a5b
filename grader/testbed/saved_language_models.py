"""Small language models in a folder, as a hub would hand them out, and rows of tokens to train them on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from grader.testbed.extras import import_train_extra

if TYPE_CHECKING:
    from datasets import Dataset

VOCABULARY = 64


def save_language_model(
    folder: str | Path, *, layers: int = 4, width: int = 256, dtype: torch.dtype = torch.bfloat16, seed: int = 0
) -> Path:
    """Write a Llama model with seeded weights and its config to a folder, from which `from_pretrained` reads them.

    Each layer has seven linear layers without bias: q_proj, k_proj, v_proj and o_proj of width x width, and gate_proj,
    up_proj and down_proj with three times the width on one side.

    Args:
        folder: Where to; it is made if it does not exist.
        layers: Decoder layers.
        width: Features of a position; a multiple of 64.
        dtype: Format of the saved weights.
        seed: Seed of the weights. The global random state stays as it was.

    Returns:
        The folder.
    """
    transformers = import_train_extra("transformers")
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=3 * width,
        max_position_embeddings=128,
        initializer_range=width**-0.5,
        bos_token_id=None,
        eos_token_id=None,
        use_cache=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(config)
    model.to(dtype).save_pretrained(folder)
    return Path(folder)


def make_token_rows(rows: int, time: int = 32, *, seed: int = 0) -> Dataset:
    """Write rows of tokens that count up in steps of one size for each row, with input_ids and labels.

    Args:
        rows: How many.
        time: Tokens of each.
        seed: Seed of the first tokens and the steps.
    """
    datasets = import_train_extra("datasets")
    draw = torch.Generator().manual_seed(seed)
    first, step = (torch.randint(least, VOCABULARY, (rows, 1), generator=draw) for least in (0, 1))
    tokens = ((first + step * torch.arange(time)) % VOCABULARY).tolist()
    dataset: Dataset = datasets.Dataset.from_dict({"input_ids": tokens, "labels": tokens}).with_format("torch")
    return dataset
