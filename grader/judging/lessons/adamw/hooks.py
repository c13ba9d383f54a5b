"""Hooks with one mistake each, for the judge of updates inside backward to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torch import Tensor, nn

Install = Callable[[nn.Module, Callable[..., Any]], None]


def _each(hook_of: Callable[[nn.Parameter, Any], Callable[..., None]]) -> Install:
    """Return what installs a hook on each trained parameter."""

    def install(model: nn.Module, make_optimizer: Any) -> None:
        for parameter in model.parameters():
            if parameter.requires_grad:
                hook = hook_of(parameter, make_optimizer)
                parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]

    return install


def _step(parameter: nn.Parameter, make_optimizer: Any, *, times: int = 1, frees: bool = True) -> Callable[..., None]:
    optimizer = make_optimizer([parameter])

    def hook(_: Tensor) -> None:
        for _number in range(times):
            optimizer.step()
        if frees:
            parameter.grad = None

    return hook


def _step_anew(parameter: nn.Parameter, make_optimizer: Any) -> Callable[..., None]:
    def hook(_: Tensor) -> None:
        make_optimizer([parameter]).step()
        parameter.grad = None

    return hook


def _step_clipped(parameter: nn.Parameter, make_optimizer: Any, *, is_by_value: bool = False) -> Callable[..., None]:
    optimizer = make_optimizer([parameter])

    def hook(_: Tensor) -> None:
        clip = nn.utils.clip_grad_value_ if is_by_value else nn.utils.clip_grad_norm_
        clip([parameter], 1.0)
        optimizer.step()
        parameter.grad = None

    return hook


def _install_last(model: nn.Module, make_optimizer: Any) -> None:
    """Every hook steps the optimizer of the last parameter, as a name that a loop changes does."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    hook = _step(trained[-1], make_optimizer)
    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]


def hook_mistakes() -> Iterator[tuple[str, Install, str]]:
    """Yield mistakes of hooks: code, what installs them, and where to look."""
    look_at = "what the next backward finds in .grad: it adds to it"
    yield "gradient_not_freed", _each(lambda p, make: _step(p, make, frees=False)), look_at
    look_at = "the momentum: an optimizer that is made in the hook has forgotten the steps before"
    yield "optimizer_made_anew", _each(_step_anew), look_at
    look_at = "a clipping in the hook: nobody asks for it, and one gradient alone has no global norm"
    yield "gradient_clipped", _each(_step_clipped), look_at
    yield "gradient_clipped", _each(partial(_step_clipped, is_by_value=True)), look_at
    look_at = "how often the optimizer of one parameter takes a step in one backward"
    yield "stepped_twice", _each(lambda p, make: _step(p, make, times=2)), look_at
    look_at = "the name of the optimizer: when the hooks run, a loop has left its last value in it"
    yield "last_optimizer_for_all", _install_last, look_at
