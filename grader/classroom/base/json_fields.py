"""Convert dataclasses to and from dicts for JSON, which crosses processes, machines and versions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

FORMAT = 1


def plain_fields(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields unconverted, with the number of the format in which they are written."""
    return {"format": FORMAT, **{known.name: getattr(value, known.name) for known in dataclasses.fields(value)}}


def checked_fields(kind: type, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `plain_fields` wrote of a dataclass, without the format.

    Raises:
        ValueError: if it is of another format, or has fields that this version does not know.
    """
    fields = dict(plain)
    if fields.pop("format", None) != FORMAT:
        raise ValueError(f"{kind.__name__} of format {plain.get('format')!r}, where {FORMAT} is known")
    return known_fields(kind, fields)


def known_fields(kind: type, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a dataclass.

    Raises:
        ValueError: if any of them is unknown.
    """
    unknown = sorted(fields.keys() - {known.name for known in dataclasses.fields(kind)})
    if unknown:
        raise ValueError(f"{kind.__name__} with fields that this version does not know: {', '.join(unknown)}")
    return dict(fields)
