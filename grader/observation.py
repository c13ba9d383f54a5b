"""The record of a learner's answer, as data that can leave the process that made it."""

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

from grader.channel import LARGEST_OBSERVATION_BYTES, MEDIA_TYPE
from grader.units import MIB

__all__ = ["MEDIA_TYPE", "Observation", "decode_observation", "encode_observation"]

# Far above what any check writes: the largest has 500 values and 30 tensors.
MOST_VALUES = 100_000
MOST_TENSORS = 4096
DEEPEST = 12  # levels of lists and objects
LONGEST_TEXT = 10_000
LARGEST_INTEGER = 2**63
LARGEST_HEADER_BYTES = MIB
MOST_DIMENSIONS = 8
ELEMENT_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}

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
    """Read what `encode_observation` wrote; the text may come from anybody.

    Raises:
        ValueError: if the text is not such an observation, or larger than any check writes.
    """
    document = _parse(text, LARGEST_OBSERVATION_BYTES)
    if not isinstance(document, dict) or set(document) != {"facts", "safetensors"}:
        raise ValueError("an observation has exactly the keys 'facts' and 'safetensors'")
    facts, packed = document["facts"], document["safetensors"]
    if not isinstance(facts, dict) or not isinstance(packed, str):
        raise ValueError("the facts of an observation are an object, its tensors a text")
    return Observation(_read(facts, DEEPEST), _unpack(base64.b64decode(packed, validate=True)))


def _parse(text: str, largest: int) -> Any:
    """Parse JSON that neither repeats a key, nor holds NaN or infinity, nor more values than the caps allow."""
    if len(text) > largest:
        raise ValueError(f"{len(text)} characters, more than {largest}")
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:  # before any of them is made
        raise ValueError(f"more than {MOST_VALUES} values")
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_integer,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("an object repeats a key")
    return dict(pairs)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError("a number is too large")
    return float(text)


def _integer(text: str) -> int:
    if len(text) > len(str(LARGEST_INTEGER)) + 1 or abs(int(text)) > LARGEST_INTEGER:
        raise ValueError("an integer is too large")
    return int(text)


def _unpack(packed: bytes) -> dict[str, torch.Tensor]:
    """Read the tensors after a look at the header, which says how many and how large they are."""
    header_bytes = int.from_bytes(packed[:8], "little")
    if header_bytes > min(LARGEST_HEADER_BYTES, len(packed) - 8):
        raise ValueError("the header of the tensors is too large")
    header = _parse(packed[8 : 8 + header_bytes].decode(), LARGEST_HEADER_BYTES)
    if not isinstance(header, dict) or len(header) > MOST_TENSORS:
        raise ValueError(f"the tensors have no header, or are more than {MOST_TENSORS}")
    for name, entry in header.items():
        _require_plain_tensor(name, entry)
    try:
        tensors: dict[str, torch.Tensor] = load(packed)
        return tensors
    except (SafetensorError, RuntimeError, TypeError, KeyError) as error:
        raise ValueError(f"the tensors of an observation cannot be read: {error}") from None


def _require_plain_tensor(name: str, entry: Any) -> None:
    """Refuse a tensor whose shape, type and bytes do not fit together."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"} or len(name) > LONGEST_TEXT:
        raise ValueError("a tensor has no type, shape or place")
    shape, offsets = entry["shape"], entry["data_offsets"]
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError(f"the tensor {name[:40]!r} has an invalid shape or place")
    if entry["dtype"] not in ELEMENT_BYTES or len(shape) > MOST_DIMENSIONS or len(offsets) != 2:
        raise ValueError(f"the tensor {name[:40]!r} has a type or shape that no check writes")
    tensor_bytes = math.prod(shape) * ELEMENT_BYTES[entry["dtype"]]
    if tensor_bytes != offsets[1] - offsets[0] or max(shape, default=0) > LARGEST_OBSERVATION_BYTES:
        raise ValueError(f"the tensor {name[:40]!r} has another size than its bytes")


def _write(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_INTEGER:
        value = _as_float(value)
    if isinstance(value, float) and not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return {"non_finite": name}
    if isinstance(value, Mapping):
        return {str(key): _write(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_write(item) for item in value]
    return value


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _read(value: Any, levels: int) -> Any:
    if not levels:
        raise ValueError("it is nested too deeply")
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ValueError(f"a text of {len(value)} characters, more than {LONGEST_TEXT}")
    if isinstance(value, dict):
        if set(value) == {"non_finite"}:
            return _non_finite(value["non_finite"])
        return {str(_read(key, levels)): _read(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_read(item, levels - 1) for item in value]
    return value


def _non_finite(name: Any) -> float:
    if not isinstance(name, str) or name not in _NON_FINITE:
        raise ValueError("a number is neither finite nor NaN nor infinite")
    return _NON_FINITE[name]
