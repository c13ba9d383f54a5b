"""What was seen of a learner's answer, as data that can leave the process that saw it."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

MEDIA_TYPE = "application/vnd.lean-training.observation+json"

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True)
class Observation:
    """Evidence of one check: no verdict, no code, nothing that has to be trusted to be read.

    Attributes:
        facts: Counts, bytes, events and texts, as JSON has them.
        tensors: Values by name, on the CPU, without a graph.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    tensors: Mapping[str, torch.Tensor] = field(default_factory=dict)


def encode_observation(observation: Observation) -> str:
    """Write an observation as JSON text: tensors as safetensors in base64, non-finite numbers as strings."""
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in observation.tensors.items()}
    packed = base64.b64encode(save(plain)).decode()
    return json.dumps({"facts": _write(observation.facts), "safetensors": packed}, allow_nan=False)


def decode_observation(text: str) -> Observation:
    """Read what `encode_observation` wrote.

    Raises:
        ValueError: if the text is not such an observation.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or set(document) != {"facts", "safetensors"}:
        raise ValueError("an observation has exactly the keys 'facts' and 'safetensors'")
    facts, packed = document["facts"], document["safetensors"]
    if not isinstance(facts, dict) or not isinstance(packed, str):
        raise ValueError("the facts of an observation are an object, its tensors a text")
    try:
        tensors = load(base64.b64decode(packed, validate=True))
    except SafetensorError as error:
        raise ValueError(f"the tensors of an observation cannot be read: {error}") from None
    return Observation(_read(facts), tensors)


def _write(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return {"non_finite": name}
    if isinstance(value, Mapping):
        return {str(key): _write(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_write(item) for item in value]
    return value


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"non_finite"}:
            return _NON_FINITE[value["non_finite"]]
        return {key: _read(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_read(item) for item in value]
    return value
