"""BERT-large by the recipes of a published table, to be forecast at real scale.

`bert_large_recipe(...)` returns the function that `forecast_peak_memory` calls. `BERT_LARGE_ROWS` holds the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from grader.testbed.extras import import_train_extra
from grader.testbed.pretrained import Attention, make_bert_large

OptimizerName = Literal["adamw", "adafactor", "adam_8bit"]

TOKENS = 512
CUDA_CONTEXT_MIB = 1_343
"""What the published figures hold besides the job: the first tensor on that GPU alone occupied this much."""


@dataclass(frozen=True)
class BertLargeRecipe:
    """One way to train on four sequences of 512 tokens per update.

    Attributes:
        batch: Sequences in a micro-batch.
        accumulate: Micro-batches in an update.
        is_checkpointed: Whether each layer's forward is computed again in backward.
        autocast_dtype: The 16-bit format of autocast; None trains in float32. float16 brings a GradScaler.
        optimizer: "adamw" (one parameter after the other), "adafactor" as the Trainer sets it, or "adam_8bit".
        attention: "eager" or "sdpa".
        layers: Encoder layers; fewer than 24 keep the width of BERT-large.
    """

    batch: int = 4
    accumulate: int = 1
    is_checkpointed: bool = False
    autocast_dtype: torch.dtype | None = None
    optimizer: OptimizerName = "adamw"
    attention: Attention = "eager"
    layers: int = 24


@dataclass(frozen=True)
class PublishedRow:
    """One row of the published table: a recipe and what `nvidia-smi` showed on a V100 with 16 GB.

    Attributes:
        recipe: How it was trained.
        occupied_mib: MiB occupied on the GPU after training; the source prints them as MB.

    Source: Hugging Face transformers documentation 4.30, "Efficient Training on a Single GPU".
    """

    recipe: BertLargeRecipe
    occupied_mib: int

    @property
    def less_context_mib(self) -> int:
        """MiB without the CUDA context, which no forecast contains."""
        return self.occupied_mib - CUDA_CONTEXT_MIB


_MICRO_BATCHES: dict[str, Any] = {"batch": 1, "accumulate": 4}
_ALL_THE_REST: dict[str, Any] = {**_MICRO_BATCHES, "is_checkpointed": True, "autocast_dtype": torch.float16}

BERT_LARGE_ROWS = {
    "vanilla": PublishedRow(BertLargeRecipe(), 14_949),
    "accumulation": PublishedRow(BertLargeRecipe(**_MICRO_BATCHES), 8_681),
    "accumulation_checkpointing": PublishedRow(BertLargeRecipe(**_MICRO_BATCHES, is_checkpointed=True), 6_775),
    "fp16": PublishedRow(BertLargeRecipe(autocast_dtype=torch.float16), 13_939),
    "fp16_accumulation_checkpointing": PublishedRow(BertLargeRecipe(**_ALL_THE_REST), 7_275),
    "adafactor": PublishedRow(BertLargeRecipe(optimizer="adafactor"), 12_295),
    "adafactor_and_the_rest": PublishedRow(BertLargeRecipe(**_ALL_THE_REST, optimizer="adafactor"), 4_847),
    "adam_8bit": PublishedRow(BertLargeRecipe(optimizer="adam_8bit"), 13_085),
    "adam_8bit_and_the_rest": PublishedRow(BertLargeRecipe(**_ALL_THE_REST, optimizer="adam_8bit"), 5_363),
}
"""Rows of the published table by name."""


def bert_large_recipe(row: str | None = None, /, **fields: Any) -> Callable[[], dict[str, Any]]:
    """Return the function that prepares BERT-large for `forecast_peak_memory`.

    Args:
        row: A name in `BERT_LARGE_ROWS`; the vanilla recipe if left out.
        **fields: Fields of `BertLargeRecipe` that differ from the row's.

    Returns:
        Function of no arguments that returns "step", "model", "optimizer" and "inputs". A step is one update.

    Raises:
        KeyError: if no row has this name.
    """
    if row is not None and row not in BERT_LARGE_ROWS:
        raise KeyError(f"no row is named {row!r}; the rows are {', '.join(BERT_LARGE_ROWS)}")
    recipe = BERT_LARGE_ROWS[row or "vanilla"].recipe
    recipe = BertLargeRecipe(**{**vars(recipe), **fields})
    return lambda: _prepare(recipe)


def _prepare(recipe: BertLargeRecipe) -> dict[str, Any]:
    model = make_bert_large(layers=recipe.layers, attention=recipe.attention)
    if recipe.is_checkpointed:
        model.config.use_cache = False  # transformers warns otherwise
        enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
        enable({"use_reentrant": False})  # the name until transformers 5.15 is gradient_checkpointing_enable
    optimizer = _optimizer(recipe.optimizer, model)
    tokens = torch.randint(100, 30_000, (recipe.batch, TOKENS))
    labels = torch.zeros(recipe.batch, dtype=torch.long)
    device = tokens.device.type
    scaler = torch.amp.GradScaler(device, enabled=recipe.autocast_dtype == torch.float16)

    def step() -> None:
        for _ in range(recipe.accumulate):
            with torch.autocast(device, recipe.autocast_dtype, enabled=recipe.autocast_dtype is not None):
                loss = model(input_ids=tokens, labels=labels).loss / recipe.accumulate
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": (tokens, labels)}


def _optimizer(name: OptimizerName, model: nn.Module) -> torch.optim.Optimizer:
    parameters = model.parameters()
    optimizer: torch.optim.Optimizer
    if name == "adamw":
        optimizer = torch.optim.AdamW(parameters, foreach=False)
    elif name == "adafactor":
        optimization = import_train_extra("transformers.optimization")
        optimizer = optimization.Adafactor(parameters, lr=5e-5, scale_parameter=False, relative_step=False)
    elif name == "adam_8bit":
        optimizer = import_train_extra("bitsandbytes").optim.Adam8bit(parameters)
    else:
        raise ValueError(f"the optimizer is 'adamw', 'adafactor' or 'adam_8bit', not {name!r}")
    return optimizer
