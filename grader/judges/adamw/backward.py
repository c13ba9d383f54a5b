"""Verdict on updates inside backward: the weights of the plain loop, with one gradient alive at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from grader.cases.adamw import BackwardCase, backward_cases
from grader.judges.equivalence import RELATIVE_TOLERANCE, compare
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

Install = Callable[[nn.Module, Callable[[Any], torch.optim.Optimizer]], None]


def judge_adam_in_backward(observation: Observation, seed: int) -> Verdict:
    """Judge the weights after every backward, then which gradients were alive."""
    cases, settings = backward_cases(seed), observation.facts["settings"]
    for number, (case, facts) in enumerate(zip(cases, settings, strict=True)):
        verdict = _judge_optimizers(facts)
        verdict = verdict or _judge_weights(case, observation.tensors[f"{number}.weights"], facts)
        verdict = verdict or _judge_alive(facts)
        if verdict:
            return verdict
    backwards = sum(case.batches for case in cases)
    measured = f"{backwards} backwards that end in the weights of the plain loop, with one gradient alive at a time"
    return Verdict(PASSED, "the weights of the plain loop", measured)


def _judge_optimizers(facts: Mapping[str, Any]) -> Verdict | None:
    expected = "steps of the optimizers that make_optimizer makes"
    look_at = "which optimizer updates: the one that is handed over"
    if facts["steps_of_others"]:
        return Verdict("another_optimizer", expected, f"{facts['steps_of_others']} steps of others", look_at)
    return None


def _judge_weights(case: BackwardCase, seen: Tensor, facts: Mapping[str, Any]) -> Verdict | None:
    wanted, start = weights_of(case, install_nothing, is_plain=True), _flat(case.make_model())
    if _is_same(seen, wanted, start):
        return None
    expected = "after every backward, the weights of backward, step and zero_grad"
    if facts["steps_after"] and not facts["steps_inside"]:
        measured = f"{facts['steps_after']} steps, and none of them while backward runs"
        return Verdict("step_outside_backward", expected, measured, "where step() is called: in a hook")
    if torch.equal(seen, start.expand_as(seen)):
        look_at = "who calls step() once a gradient is there, and is it still there then?"
        code = "update_of_nothing" if facts["steps_inside"] else "no_update"
        return Verdict(code, expected, f"weights that never move, {facts['steps_inside']} steps in backward", look_at)
    measured = f"weights that are off by {compare(seen[-1] - start, wanted[-1] - start).relative_error:.2g} of the way"
    if not bool(seen.isfinite().all()):
        measured = "NaN or infinity in the weights"
    for code, install, look_at in _mistakes():
        if _is_same(seen, weights_of(case, install), start):
            return Verdict(code, expected, measured, look_at)
    left_out = _judge_left_out(case, seen[0], wanted[0], start, expected)
    if left_out:
        return left_out
    first = compare(seen[0] - start, wanted[0] - start)
    if first.residual <= 10 * RELATIVE_TOLERANCE:
        measured = f"a first update that is {first.factor:.4g} times as long"
        return Verdict("gradient_scaled", expected, measured, "what multiplies the gradient or the learning rate")
    look_at = "one parameter: in which order are its gradient written, its weight updated, its gradient freed?"
    return Verdict(UNRECOGNISED, expected, measured, look_at)


def _judge_left_out(case: BackwardCase, seen: Tensor, wanted: Tensor, start: Tensor, expected: str) -> Verdict | None:
    """Find out whether the first backward moved some parameters as it should, and others not at all."""
    if not bool(((seen == start) | (seen - wanted).abs().le(1e-6)).all()):
        return None
    trained = [parameter for parameter in case.make_model().parameters() if parameter.requires_grad]
    parts = torch.split(seen == start, [parameter.numel() for parameter in trained])
    is_biases = [bool(part.all()) for part in parts] == [parameter.dim() < 2 for parameter in trained]
    measured = f"{sum(bool(part.all()) for part in parts)} of {len(parts)} parameters do not move"
    if is_biases:
        return Verdict("biases_left_out", expected, measured, "the parameters of one dimension: they are trained too")
    return Verdict("parameters_left_out", expected, measured, "which parameters get a hook, and which do not")


def _judge_alive(facts: Mapping[str, Any]) -> Verdict | None:
    expected = "one gradient alive at a time, and none after backward"
    if facts["steps_after"]:
        measured = f"{facts['steps_after']} steps after backward"
        return Verdict("step_after_backward", expected, measured, "where step() is called: in a hook, during backward")
    if facts["gradients_left"]:
        measured = f"{facts['gradients_left']} gradients left after backward"
        look_at = "what is left of a gradient in the hook: zeros take as much memory as numbers"
        return Verdict("gradient_left", expected, measured, look_at)
    if facts["gradients_alive"] > 1:
        measured = f"{facts['gradients_alive']} gradients alive together"
        look_at = "how long a gradient is kept: its own hook is the place to use it and to free it"
        return Verdict("gradients_wait", expected, measured, look_at)
    if not facts["steps_inside"]:
        measured = "no step of an optimizer that make_optimizer made"
        return Verdict("optimizer_not_used", expected, measured, "which optimizer updates: the one that is handed over")
    return None


def weights_of(case: BackwardCase, install: Install, *, is_plain: bool = False) -> Tensor:
    """Return all trained weights after each backward, [batches, numbers].

    Args:
        case: Model and batches.
        install: What prepares the model.
        is_plain: Whether step and zero_grad follow each backward.
    """
    model, rows = case.make_model(), []
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = case.make_optimizer(trained)
    with torch.enable_grad():
        install(model, case.make_optimizer)
        for batch in case.make_batches():
            loss = model(batch).square().mean()
            torch.autograd.backward(loss)
            if is_plain:
                optimizer.step()
                optimizer.zero_grad()
            rows.append(_flat(model))
    return torch.stack(rows)


def install_nothing(_: nn.Module, __: Any) -> None:
    """Leave the model as it is."""


def _flat(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters() if parameter.requires_grad])


def _is_same(seen: Tensor, wanted: Tensor, start: Tensor) -> bool:
    difference = torch.linalg.vector_norm(seen.double() - wanted.double(), dim=1)
    return bool((difference <= RELATIVE_TOLERANCE * torch.linalg.vector_norm(wanted - start, dim=1).double()).all())


def _each(hook_of: Callable[[nn.Parameter, Any], Callable[..., None]], *, is_early: bool = False) -> Install:
    """Return what installs a hook on each trained parameter, before or after its gradient is written."""

    def install(model: nn.Module, make_optimizer: Any) -> None:
        for parameter in model.parameters():
            if parameter.requires_grad:
                register = parameter.register_hook if is_early else parameter.register_post_accumulate_grad_hook
                register(hook_of(parameter, make_optimizer))  # type: ignore[no-untyped-call]

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


def _install_last(model: nn.Module, make_optimizer: Any) -> None:
    """Every hook steps the optimizer of the last parameter, as a name that a loop changes does."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    hook = _step(trained[-1], make_optimizer)
    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]


def _mistakes() -> Iterator[tuple[str, Install, str]]:
    look_at = "what the next backward finds in .grad: it adds to it"
    yield "gradient_not_freed", _each(lambda p, make: _step(p, make, frees=False)), look_at
    look_at = "the momentum: an optimizer that is made in the hook has forgotten the steps before"
    yield "optimizer_made_anew", _each(_step_anew), look_at
    look_at = "when the hook runs: register_hook runs before the gradient is added to .grad"
    yield "hook_before_gradient", _each(_step, is_early=True), look_at
    look_at = "how often the optimizer of one parameter takes a step in one backward"
    yield "stepped_twice", _each(lambda p, make: _step(p, make, times=2)), look_at
    look_at = "the name of the optimizer: when the hooks run, a loop has left its last value in it"
    yield "last_optimizer_for_all", _install_last, look_at
