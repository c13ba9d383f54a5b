"""What a training run of BERT-large is composed of, forecast from runs of a few layers.

The bytes of a run grow by the same amount with each layer and with each row, so four small forecasts give a part.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import MemorySample
from grader.testbed.bert_large_recipes import BertLargeRecipe, OptimizerName, bert_large_recipe
from grader.testbed.pretrained import Attention

FEW_LAYERS, MORE_LAYERS = 2, 4
FEW_ROWS, MORE_ROWS = 4, 8  # with fewer rows, the gradient of the embedding is larger than a layer that runs again
Value = Callable[[MemorySample], int]


@dataclass(frozen=True)
class BertLargeParts:
    """Bytes of the parts of a run, at real scale.

    Attributes:
        weights: The parameters.
        gradients: One for each parameter.
        state: What the optimizer keeps.
        update: What the update allocates on top, and frees.
        copies: Autocast's 16-bit copies of the weights; 0 in float32.
        kept: For each row, all that the forward pass keeps without checkpointing.
        inputs: For each row, the layers' inputs, which the forward pass keeps with checkpointing.
        layer_forward: For each row, what one layer holds on top while it runs forward.
        layer_backward: For each row, what one layer holds on top while it runs again, with its gradients.
    """

    weights: int
    gradients: int
    state: int
    update: int
    copies: int
    kept: int
    inputs: int
    layer_forward: int
    layer_backward: int


def bert_large_parts(
    optimizer: OptimizerName = "adamw",
    autocast_dtype: torch.dtype | None = None,
    attention: Attention = "eager",
    layers: int = 24,
) -> BertLargeParts:
    """Return the parts of a run on rows of 512 tokens, with CUDA's operators emulated.

    Args:
        optimizer: "adamw" (one parameter after the other), "adafactor" as the Trainer sets it, or "adam_8bit".
        autocast_dtype: The 16-bit format of autocast; None trains in float32.
        attention: "eager" or "sdpa".
        layers: Of the model.

    Source: the recipes of Hugging Face transformers 4.30, "Efficient Training on a Single GPU".
    """
    setting = {"autocast_dtype": autocast_dtype, "attention": attention}
    weights = _extrapolate(layers, lambda few: _entry(optimizer, few).parameter_bytes)
    kept, copies = _by_rows(layers, "forward", {**setting, "is_checkpointed": False})
    forward, _ = _by_rows(layers, "forward", {**setting, "is_checkpointed": True})
    backward, _ = _by_rows(layers, "backward", {**setting, "is_checkpointed": True})
    inputs = _inputs(layers)
    return BertLargeParts(
        weights=weights,
        gradients=weights,
        state=_extrapolate(layers, lambda few: _entry(optimizer, few).optimizer_state_bytes),
        update=_update(optimizer),
        copies=copies if autocast_dtype else 0,
        kept=kept,
        inputs=inputs,
        layer_forward=forward - inputs,
        layer_backward=backward - inputs,
    )


def _extrapolate(layers: int, value: Callable[[int], int]) -> int:
    few, more = value(FEW_LAYERS), value(MORE_LAYERS)
    return few + (more - few) * (layers - FEW_LAYERS) // (MORE_LAYERS - FEW_LAYERS)


def _by_rows(layers: int, phase: str, setting: dict[str, Any]) -> tuple[int, int]:
    """Return the bytes for each row, and those that do not depend on the rows, of a phase with gradients."""

    def held(rows: int) -> int:
        return _extrapolate(layers, lambda few: _highest(phase, few, rows, **setting))

    fewer, more = held(FEW_ROWS), held(MORE_ROWS)
    per_row = (more - fewer) // (MORE_ROWS - FEW_ROWS)
    return per_row, fewer - per_row * FEW_ROWS


def _inputs(layers: int) -> int:
    """Return what checkpointing keeps for each row: the input of each layer, float32."""
    return layers * 512 * 1024 * 4


@functools.cache
def _highest(phase: str, layers: int, rows: int, **setting: Any) -> int:
    """Return the most bytes next to weights, gradients and state in a phase of the second micro-batch."""
    samples = _timeline(layers=layers, batch=rows, accumulate=2, **setting)
    # The gradients of the first micro-batch are complete when the second one begins.
    complete = max(sample.gradient_bytes for sample in samples)
    held = [sample for sample in samples if sample.phase == phase and sample.gradient_bytes == complete]
    return max(sample.activation_bytes + sample.other_bytes for sample in held)


def _update(optimizer: OptimizerName) -> int:
    """Return what an update holds for a while; the largest parameter, the embedding, decides it in any model."""
    samples = _timeline(layers=FEW_LAYERS, batch=1, is_checkpointed=True, optimizer=optimizer)
    return max((sample.other_bytes for sample in samples if sample.phase == "optimizer"), default=0)


def _entry(optimizer: OptimizerName, layers: int) -> MemorySample:
    return _timeline(layers=layers, batch=1, is_checkpointed=True, optimizer=optimizer)[0]


@functools.cache
def _timeline(**fields: Any) -> tuple[MemorySample, ...]:
    recipe = BertLargeRecipe(**fields)
    return forecast_peak_memory(bert_large_recipe(**vars(recipe))).timeline
