"""Records whether what a matrix product multiplies is in fp8."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
FIRST_OPERAND = {aten.mm: 0, aten.bmm: 0, aten.mv: 0, aten.dot: 0, aten.linear: 0, aten.addmm: 1, aten.baddbmm: 1}


class Operands(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the operands of each matrix product that sums over more than one number.

    Attributes:
        products: For each product, whether both operands hold nothing but numbers of an fp8 format.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.products: list[bool] = []

    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        """Note the operands, and run the operation."""
        first = FIRST_OPERAND.get(operation.overloadpacket)
        if first is not None and arguments[first].shape[-1] > 1:
            self.products.append(all(map(_is_in_fp8, arguments[first : first + 2])))
        return operation(*arguments, **(keywords or {}))


def _is_in_fp8(values: Tensor) -> bool:
    formats = torch.float8_e4m3fn, torch.float8_e5m2
    return any(torch.equal(values.to(dtype).to(values.dtype), values) for dtype in formats)
