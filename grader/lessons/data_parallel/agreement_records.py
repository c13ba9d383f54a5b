"""Records what a test for equal weights gives to the other ranks, and whether it uses a salted hash."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import torch
from torch import Tensor, nn

from grader.ranks.collectives import CollectiveLog

LARGEST_PAYLOAD = 4096  # bytes that are kept of one collective: a digest is smaller


class PayloadLog(CollectiveLog):  # type: ignore[no-untyped-call]
    """A log of collectives that keeps the first bytes of their tensors, as they were before, and the number formats."""

    def __init__(self) -> None:
        super().__init__()
        self.payloads: list[bytes] = []
        self.formats: set[str] = set()

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        """Run an operator; of a collective one, keep what goes in."""
        if function.namespace == "c10d":
            parts = [tensor.detach().contiguous().flatten()[:LARGEST_PAYLOAD] for tensor in _tensors(arguments)]
            payload = b"".join(part.view(torch.uint8).numpy().tobytes() for part in parts if part.numel())
            self.payloads.append(payload[:LARGEST_PAYLOAD])
            self.formats |= {str(part.dtype).removeprefix("torch.") for part in parts if part.numel()}
        return super().__torch_dispatch__(function, types, arguments, options)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [tensor for part in value for tensor in _tensors(part)] if isinstance(value, list | tuple) else []


def varying_bits(calls: Sequence[Sequence[bytes]]) -> int:
    """Count the bits of a collective that are not the same in all calls; of several collectives, the most."""
    return max((_varying(payloads) for payloads in zip(*calls, strict=False)), default=0)


def _varying(payloads: Sequence[bytes]) -> int:
    """Count the bits that are not the same in all payloads, as far as the shortest goes."""
    size = min((len(payload) for payload in payloads), default=0)
    first, *others = [int.from_bytes(payload[:size], "little") for payload in payloads] or [0]
    varying = 0
    for other in others:
        varying |= first ^ other
    return varying.bit_count()


def state_of(model: nn.Module) -> tuple[list[bytes], list[bool], list[bool]]:
    """Return the bits of all parameters, which are trained, and which have a gradient."""
    parameters = list(model.parameters())
    return (
        [parameter.detach().numpy().tobytes() for parameter in parameters],
        [parameter.requires_grad for parameter in parameters],
        [parameter.grad is not None for parameter in parameters],
    )


def salt_hash(function: Callable[..., Any], rank: int) -> list[str]:
    """Give `hash` another salt on each rank for the functions of a file, as processes of different machines have it.

    The ranks of a run are forks of one process, so their salts are equal by chance of this machine alone.

    Args:
        function: A function of the file; where it has no globals, or a `hash` of its own, nothing is changed.
        rank: Number of this rank.

    Returns:
        A list that grows by the type's name of each salted value.
    """
    salted: list[str] = []

    def hash_with_salt(value: Any) -> int:
        if not _is_salted(value):
            return builtins.hash(value)
        salted.append(type(value).__name__)
        return builtins.hash((rank, value))

    getattr(function, "__globals__", {}).setdefault("hash", hash_with_salt)
    return salted


def _is_salted(value: Any) -> bool:
    """Whether a hash differs between processes: that of texts, bytes, and of objects without a hash of their own."""
    if isinstance(value, tuple | frozenset):
        return any(map(_is_salted, value))
    return not (value is None or isinstance(value, Number))
