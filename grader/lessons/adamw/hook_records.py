"""Records how a learner's hooks are registered, and what they keep of gradients and optimizers."""

from __future__ import annotations

import contextlib
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.lessons.adamw.backward_records import BackwardRecord
from grader.observing.contract import fail

Method = Callable[..., Any]


class HookRecord(BackwardRecord):
    """What happened in the backward passes of one model, and before them.

    Attributes:
        gradients_alive: The most gradients that were in memory at once during a backward pass, wherever they are kept.
        gradients_kept: The most gradients that were in memory after a backward pass, and not in any .grad.
        nonzero_left: The most gradients that were in a .grad after a backward pass and held more than zeros.
        early_hooks: Hooks that were registered to run before a gradient is in .grad.
        module_hooks: Hooks that were registered on modules.
        made_inside: Calls of `make_optimizer` during a backward pass.
        made_twice: Parameters that `make_optimizer` was given more than once, calls during backward left out.
    """

    def __init__(self, model: nn.Module):
        super().__init__(model)
        self.frozen = [parameter for parameter in model.parameters() if not parameter.requires_grad]
        self.gradients_kept = self.nonzero_left = self.early_hooks = self.module_hooks = 0
        self.made_inside = self.made_twice = 0
        self._given: set[int] = set()
        self._written: dict[int, StorageWeakRef] = {}  # a reference keeps the address of its storage from being reused

    def noting(self, make_optimizer: Callable[[Any], torch.optim.Optimizer]) -> Callable[[Any], torch.optim.Optimizer]:
        """Return a `make_optimizer` whose optimizers are known."""
        make_known = super().noting(make_optimizer)

        def make_noted(parameters: Any) -> torch.optim.Optimizer:
            optimizer = make_known(parameters)
            given = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            self.made_inside += self._is_running
            self.made_twice += 0 if self._is_running else len(given & self._given)
            self._given |= given
            return optimizer

        return make_noted

    def run_backward(self, loss: Tensor) -> None:
        """Run the backward pass of a loss."""
        super().run_backward(loss)
        left = [parameter.grad for parameter in self.trained if parameter.grad is not None]
        self.nonzero_left = max(self.nonzero_left, sum(bool(gradient.any()) for gradient in left))
        self.gradients_kept = max(self.gradients_kept, self._in_memory() - len(left))

    def note_gradient(self, parameter: Tensor) -> None:
        """Note how many gradients there are, right after that of `parameter` was written."""
        if parameter.grad is not None:
            reference = StorageWeakRef(parameter.grad.untyped_storage())  # type: ignore[no-untyped-call]
            self._written[reference.cdata] = reference
        self.gradients_alive = max(self.gradients_alive, self._in_memory())

    def facts(self) -> dict[str, Any]:
        """Return the counts by name."""
        hooks = ("gradients_kept", "nonzero_left", "early_hooks", "module_hooks")
        names = (*hooks, "made_twice")
        unfrozen = sum(parameter.requires_grad for parameter in self.frozen)
        return super().facts() | {name: getattr(self, name) for name in names} | {"unfrozen": unfrozen}

    def explain_kept(self, error: ValueError) -> tuple[str, str, str, str]:
        """Return code, expected, measured and diagnosis for a step that keeps memory."""
        code, look_at = (
            "memory_kept",
            "You keep tensors in your hooks. Look for lists, closures and attributes that hold them.",
        )
        if self.made_inside:
            code = "optimizers_kept"
            look_at = (
                "You call make_optimizer in a hook, and every call makes a state of its own. Call it once, outside."
            )
        elif self.gradients_left:
            code, look_at = "gradients_stay", "You leave gradients in .grad. Free each of them in its own hook."
        return code, "no memory kept after a backward pass", str(error).partition(". ")[0], look_at

    def _in_memory(self) -> int:
        self._written = {key: one for key, one in self._written.items() if not one.expired()}  # type: ignore[no-untyped-call]
        return len(self._written)


@contextlib.contextmanager
def record_hooks(model: nn.Module) -> Iterator[HookRecord]:
    """Record the backward passes of `model` that go through `run_backward` in the block."""
    record = HookRecord(model)
    handles = [register_optimizer_step_pre_hook(record.note_step)]
    # These hooks come first, so they see a gradient that a later hook frees.
    handles += [p.register_post_accumulate_grad_hook(record.note_gradient) for p in record.trained]  # type: ignore[no-untyped-call]
    try:
        yield record
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def watch_registrations(record: HookRecord) -> Iterator[None]:
    """Note the hooks that the block registers, and fail the check for one that cannot be called."""
    seams: tuple[tuple[Any, str, str | None], ...] = (
        (Tensor, "register_post_accumulate_grad_hook", None),
        (Tensor, "register_hook", "early_hooks"),
        (nn.Module, "register_full_backward_hook", "module_hooks"),
        (nn.Module, "register_full_backward_pre_hook", "module_hooks"),
    )
    kept = [getattr(owner, name) for owner, name, _ in seams]
    for (owner, name, count), method in zip(seams, kept, strict=True):
        setattr(owner, name, _watched(method, record, count, is_on_tensor=owner is Tensor))
    try:
        yield
    finally:
        for (owner, name, _), method in zip(seams, kept, strict=True):
            setattr(owner, name, method)


def _watched(method: Method, record: HookRecord, count: str | None, *, is_on_tensor: bool) -> Method:
    def register(owner: Any, hook: Any, *arguments: Any, **keywords: Any) -> Any:
        frame = sys._getframe(1)
        source = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        place = f"line {frame.f_lineno} of {frame.f_code.co_name}: {source}"
        if is_on_tensor:
            _require_hook(hook, place)
        if count:
            setattr(record, count, getattr(record, count) + 1)
        else:
            hook = _returning_nothing(hook, place)
        return method(owner, hook, *arguments, **keywords)

    return register


def _require_hook(hook: Any, place: str) -> None:
    """Fail unless a hook is a function that takes one tensor."""
    expected = "a hook that can be called as hook(parameter)"
    if not callable(hook):
        found = "None" if hook is None else type(hook).__name__
        look_at = f"You register the result of a call. Register the function itself, without brackets: {place}"
        fail("hook_not_a_function", expected, f"{found}, which is no function", look_at)
    try:
        signature = inspect.signature(hook)
    except ValueError:  # a built-in function, written in C
        return
    try:
        signature.bind(None)
    except TypeError as error:
        name = getattr(hook, "__name__", type(hook).__name__)
        look_at = f"You register a function that cannot be called with one argument, the parameter: {place}"
        fail("hook_with_other_parameters", expected, f"{name}{signature}: {error}", look_at)


def _returning_nothing(hook: Method, place: str) -> Method:
    """Return the hook, made to fail the check where it returns something, which PyTorch rejects."""

    def call(parameter: Tensor) -> None:
        returned = hook(parameter)
        if returned is not None:
            expected = "a hook that returns nothing"
            look_at = f"You register a function that returns something. End it without a value: {place}"
            fail("hook_returns", expected, f"a hook that returns a {type(returned).__name__}", look_at)

    return call
