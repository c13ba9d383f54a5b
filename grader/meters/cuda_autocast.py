"""CUDA's rules for autocast, applied to tensors on the CPU.

Autocast casts the inputs of some operators to the 16-bit format and those of others to float32. Which ones differs by
device: softmax and layer norm run in float32 on CUDA and in the format of their input on the CPU. PyTorch knows which
operators have a rule for a device; the rules of CUDA are listed here.

Source: PyTorch, aten/src/ATen/autocast_mode.h; documentation, "Automatic Mixed Precision", CUDA op-specific behavior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.library import fallthrough_kernel

_BELOW_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

# Operators that CUDA lists and the CPU does not. All that is in none of these tables runs in float32.
LOWER_PRECISION = frozenset(
    "_convolution convolution cudnn_convolution cudnn_convolution_transpose addmv addr mv chain_matmul einsum "
    "linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell "
    "_scaled_dot_product_flash_attention".split()
)
WIDEST_INPUT = frozenset(
    "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add".split()
)
FLOAT32_RESULT = frozenset(
    "prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum norm".split()
)
# Operators that both list, by another rule.
_DIFFERENT_RULE = frozenset({"aten::prod", "aten::prod.dim_int", "aten::grid_sampler"})


def substitute_autocast_rules(library: Any) -> None:
    """Replace the CPU's autocast rules by CUDA's for as long as the library lives.

    Args:
        library: A `torch.library.Library` of kernels for the namespace "aten".
    """
    on_cpu = set(torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU"))
    on_cuda = set(torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA"))
    for name in sorted(on_cuda - on_cpu | _DIFFERENT_RULE & on_cuda):
        library.impl(name.removeprefix("aten::"), _kernel(name), "AutocastCPU")
    for name in sorted(on_cpu - on_cuda):
        library.impl(name.removeprefix("aten::"), fallthrough_kernel, "AutocastCPU")


def _kernel(name: str) -> Callable[..., Any]:
    """Return what CUDA's autocast does for one operator."""
    packet, _, overload = name.removeprefix("aten::").partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
    if packet in FLOAT32_RESULT:
        return _with_float32_result(operator)

    def run(*args: Any, **kwargs: Any) -> Any:
        format_ = torch.float32
        if packet in LOWER_PRECISION or (
            packet in WIDEST_INPUT and all(t.dtype != torch.float32 for t in _castable((*args, *kwargs.values())))
        ):
            format_ = torch.get_autocast_dtype("cpu")
        with torch._C._ExcludeDispatchKeyGuard(_BELOW_AUTOCAST):
            cast_kwargs = {key: _cast(value, format_) for key, value in kwargs.items()}
            return operator(*(_cast(value, format_) for value in args), **cast_kwargs)

    return run


def _with_float32_result(operator: Any) -> Callable[..., Any]:
    """Return the rule that asks the operator for a float32 result and leaves its input as it is."""
    names = [argument.name for argument in operator._schema.arguments]
    place = names.index("dtype") if "dtype" in names else None

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_BELOW_AUTOCAST):
            if place is None:  # torch.norm, which has an overload of its own for this; its result is small
                return operator(*args, **kwargs)
            if _is_castable(args[0]):
                is_given = kwargs.get("dtype") is not None or (place < len(args) and args[place] is not None)
                if not is_given:
                    args, kwargs = args[:place], {**kwargs, "dtype": torch.float32}
            return operator(*args, **kwargs)

    return run


def _is_castable(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64


def _castable(values: Iterable[object]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _castable(value)
        elif _is_castable(value):
            assert isinstance(value, torch.Tensor)
            yield value


def _cast(value: Any, format_: torch.dtype) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, format_) for item in value)
    return value.to(format_) if _is_castable(value) else value
