"""The operators that a CUDA device would run, for fake tensors on the CPU.

PyTorch picks operators by device. What CUDA does differently for memory: dropout is one operator whose mask takes one
byte an element; attention has kernels that keep no score matrix; the softmax of float16 scores to float32 makes no
float32 copy of them; autocast has other rules (`cuda_autocast`); optimizers handle all parameters at once (foreach).

The substitutes are kernels of PyTorch's dispatcher, so they hold for every way to call the operator, in forward, in
backward, and where checkpointing recomputes a forward within backward.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.optim import optimizer as optimizer_module

from grader.meters.cuda_autocast import substitute_autocast_rules

_aten = torch.ops.aten
_new_library: Any = torch.library.Library
_optimizer_module: Any = optimizer_module
_switches: Any = torch.backends.cuda
_HALF_FORMATS = (torch.float16, torch.bfloat16)
_WIDEST_FLASH_HEAD = 256


@contextmanager
def substitute_cuda_operators() -> Iterator[None]:
    """Run CUDA's operators on the CPU's tensors; everything is restored on exit, also after an error.

    The substitutes are written for fake tensors. Most of them are right for real tensors too, but attention fails.
    """
    library = _new_library("aten", "IMPL")
    try:
        with warnings.catch_warnings(), ExitStack() as stack:
            # PyTorch warns of every kernel that takes the place of another, which is the purpose here.
            warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)
            library.impl("dropout", _dropout, "AutogradCPU")
            library.impl("softmax.int", _softmax_by(_aten._softmax), "AutogradCPU")
            library.impl("log_softmax.int", _softmax_by(_aten._log_softmax), "AutogradCPU")
            library.impl("scaled_dot_product_attention", _attention, "AutogradCPU")
            substitute_autocast_rules(library)
            stack.enter_context(_foreach_by_default())
            yield
    finally:
        library._destroy()


@contextmanager
def _foreach_by_default() -> Iterator[None]:
    """Let optimizers choose as they do for CUDA parameters, where neither `foreach` nor `fused` is given."""
    supported_devices = _optimizer_module._get_foreach_kernels_supported_devices
    supported_types = _optimizer_module._foreach_supported_types
    _optimizer_module._get_foreach_kernels_supported_devices = lambda: [*supported_devices(), "cpu"]
    _optimizer_module._foreach_supported_types = [*supported_types, FakeTensor]
    try:
        yield
    finally:
        _optimizer_module._get_foreach_kernels_supported_devices = supported_devices
        _optimizer_module._foreach_supported_types = supported_types


def _dropout(states: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """Drop by the fused operator. It keeps a mask of one byte an element; the CPU keeps noise in the input's format."""
    if not train or p == 0 or states.numel() == 0:
        return states
    if p == 1:
        return states * states.new_zeros(())
    dropped: torch.Tensor = _aten.native_dropout(states, p, train)[0]
    return dropped


def _softmax_by(operator: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return a softmax that reads float16 and writes float32 in one operator, as CUDA's does."""

    def softmax(scores: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> torch.Tensor:
        if scores.dtype == torch.float16 and dtype == torch.float32:
            return operator(scores, dim, True)
        return operator(scores if dtype is None else scores.to(dtype), dim, False)

    return softmax


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Attend by the kernel that CUDA prefers: flash, else memory-efficient, else the plain product.

    Flash attention serves the 16-bit formats without a mask, on devices of compute capability 8.0 and above. The
    switches of `torch.nn.attention.sdpa_kernel` hold.
    """
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.where(attn_mask, 0.0, float("-inf")).to(query.dtype)
    if _is_flash_able(query, key, value, attn_mask):
        results = _aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)
    elif _is_efficient_able(query, key, value, enable_gqa):
        needs_gradient = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
        bias = None if attn_mask is None else attn_mask.expand(*query.shape[:-1], key.shape[-2])
        results = _aten._scaled_dot_product_efficient_attention(
            query, key, value, bias, needs_gradient, dropout_p, is_causal, scale=scale
        )
    else:
        results = _aten._scaled_dot_product_attention_math(
            query, key, value, attn_mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
        )
    attended: torch.Tensor = results[0]
    return attended


def _is_flash_able(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None) -> bool:
    is_shaped = query.dim() == 4 and query.shape[-1] == value.shape[-1] <= _WIDEST_FLASH_HEAD
    is_aligned = query.shape[-1] % 8 == 0
    return (
        _switches.flash_sdp_enabled()
        and mask is None
        and query.dtype in _HALF_FORMATS
        and query.dtype == key.dtype == value.dtype
        and is_shaped
        and is_aligned
    )


def _is_efficient_able(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, enable_gqa: bool) -> bool:
    alignment = 8 if query.dtype in _HALF_FORMATS else 4
    return (
        _switches.mem_efficient_sdp_enabled()
        and query.dim() == 4
        and not enable_gqa
        and query.dtype in (*_HALF_FORMATS, torch.float32)
        and query.dtype == key.dtype == value.dtype
        and query.shape[-1] % alignment == value.shape[-1] % alignment == 0
    )
