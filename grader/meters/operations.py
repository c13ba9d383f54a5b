"""The operations of a step: FLOPs of its products, and operators that it runs."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True, repr=False)
class Operations:
    """What one call of a step does.

    Attributes:
        flops: FLOPs of matrix products and of attention, forward and backward.
        operators: Operators that ran: each launches a kernel or two on a GPU, or is a view.
    """

    flops: int
    operators: int

    def __repr__(self) -> str:
        return f"{self.flops / 1e9:.3g} GFLOPs in {self.operators:,} operators"


def count_operations(step: Callable[[], object]) -> Operations:
    """Count the FLOPs and the operators of one call of `step`.

    PyTorch's counter, with the operators that torch 2.13 does not list: attention on a CPU, and the chunked loss of
    `linear_cross_entropy`, which is one operator here, whatever runs inside of it.

    Args:
        step: Function of no arguments.
    """
    from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

    def attention(query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
        return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]

    def attention_backward(gradient: Any, query: Any, key: Any, value: Any, *_: Any, **__: Any) -> int:
        return int(sdpa_backward_flop_count(gradient, query, key, value))  # type: ignore[no-untyped-call]

    unlisted: dict[Any, Any] = {
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: attention,
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: attention_backward,
    }
    with contextlib.suppress(ImportError, AttributeError):  # before torch 2.13 there is none
        importlib.import_module("torch.nn.modules.linear_cross_entropy")  # its first call would register it too late
        unlisted[torch.ops.torch_nn._linear_cross_entropy_batch_chunked] = _chunked_loss
    counted = _Counted()
    with FlopCounterMode(display=False, custom_mapping=unlisted) as counter, counted:
        step()
    return Operations(counter.get_total_flops(), counted.operators)


def _chunked_loss(hidden: Any, weight: Any, *_: Any, **__: Any) -> int:
    """Return the FLOPs of the logits and of both gradients, which its forward computes."""
    return int(3 * 2 * hidden[0] * hidden[1] * weight[0])


class _Counted(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operators that run inside of it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operators = 0

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators += 1
        return operator(*args, **(kwargs or {}))
