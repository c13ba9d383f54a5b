"""Verdict on updates inside backward: the weights of the plain loop, with one gradient alive at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.lessons.adamw.hooks import hook_mistakes
from grader.lessons.adamw.backward import BackwardCase, backward_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

Install = Callable[[nn.Module, Callable[[Any], torch.optim.Optimizer]], None]


def judge_adam_in_backward(observation: Observation, seed: int) -> Verdict:
    """Judge the weights after every backward, then which gradients were alive."""
    cases, settings = backward_cases(seed), observation.facts["settings"]
    for number, (case, facts) in enumerate(zip(cases, settings, strict=True)):
        verdict = _judge_optimizers(facts)
        verdict = verdict or _judge_weights(case, observation.tensors[f"{number}.weights"], facts)
        verdict = verdict or _judge_alive(facts) or _judge_made(facts)
        if verdict:
            return verdict
    backwards = sum(case.batches for case in cases)
    measured = f"{backwards} backwards that end in the weights of the plain loop, with one gradient alive at a time"
    return Verdict(PASSED, "the weights of the plain loop", measured)


def _judge_optimizers(facts: Mapping[str, Any]) -> Verdict | None:
    if facts["steps_of_others"]:
        expected, look_at = "steps of the optimizers that make_optimizer makes", "which optimizer updates: one of those"
        return Verdict("another_optimizer", expected, f"{facts['steps_of_others']} steps of others", look_at)
    if facts["unfrozen"]:
        measured = f"{facts['unfrozen']} frozen parameters that have requires_grad now"
        look_at = "a line that sets requires_grad: a hook is for parameters that have it already"
        return Verdict("frozen_trained", "parameters that stay frozen", measured, look_at)
    return None


def _judge_weights(case: BackwardCase, seen: Tensor, facts: Mapping[str, Any]) -> Verdict | None:
    wanted, start = weights_of(case, install_nothing, is_plain=True), _flat(case.make_model())
    if _is_same(seen, wanted, start):
        return None
    expected = "after every backward, the weights of backward, step and zero_grad"
    if facts["steps_after"] and not facts["steps_inside"]:
        measured = f"{facts['steps_after']} steps, and none of them while backward runs"
        return Verdict("step_outside_backward", expected, measured, "where step() is called: in a hook")
    early = _judge_early_hooks(facts, expected, measured := _say_distance(seen, wanted, start))
    if early:
        return early
    if torch.equal(seen, start.expand_as(seen)):
        look_at = "who calls step() once a gradient is there, and is it still there then?"
        code = "update_of_nothing" if facts["steps_inside"] else "no_update"
        return Verdict(code, expected, f"weights that never move, {facts['steps_inside']} steps in backward", look_at)
    if not facts["optimizers_made"]:
        look_at = "make_optimizer is never called: the rule of the update is that of the optimizers it makes"
        return Verdict("make_optimizer_not_called", expected, measured, look_at)
    for code, install, look_at in hook_mistakes():
        if _is_same(seen, weights_of(case, install), start):
            return Verdict(code, expected, measured, look_at)
    left_out = _judge_still(seen, start, expected) or _judge_left_out(case, seen[0], wanted[0], start, expected)
    if left_out:
        return left_out
    first = compare(seen[0] - start, wanted[0] - start)
    if first.residual <= 10 * RELATIVE_TOLERANCE:
        measured = f"a first update that is {first.factor:.4g} times as long"
        return Verdict("gradient_scaled", expected, measured, "what multiplies the gradient or the learning rate")
    look_at = "one parameter: in which order are its gradient written, its weight updated, its gradient freed?"
    return Verdict(UNRECOGNISED, expected, measured, look_at)


def _say_distance(seen: Tensor, wanted: Tensor, start: Tensor) -> str:
    if not bool(seen.isfinite().all()):
        return "NaN or infinity in the weights"
    return f"weights that are off by {compare(seen[-1] - start, wanted[-1] - start).relative_error:.2g} of the way"


def _judge_early_hooks(facts: Mapping[str, Any], expected: str, measured: str) -> Verdict | None:
    """Find out whether hooks were registered that run before the gradient of a parameter is in .grad."""
    if facts["early_hooks"]:
        look_at = "when the hook runs: register_hook runs before the gradient is added to .grad"
        return Verdict("hook_before_gradient", expected, measured, look_at)
    if facts["module_hooks"]:
        look_at = "hooks of modules run when gradients of outputs are there, not when those of all parameters are"
        return Verdict("hook_of_module", expected, measured, look_at)
    return None


def _judge_still(seen: Tensor, start: Tensor, expected: str) -> Verdict | None:
    """Find out whether no weight moves in some of the backwards."""
    before = torch.cat([start[None], seen[:-1]])
    still = [number for number, is_still in enumerate((seen == before).all(dim=1).tolist(), start=1) if is_still]
    if not still:
        return None
    measured = f"no weight that moves in backward {', '.join(map(str, still))} of {len(seen)}"
    if still[0] > 1 and still == list(range(still[0], len(seen) + 1)):
        look_at = "what ends the updates: a hook that is removed, or that acts once"
        return Verdict("updates_end", expected, measured, look_at)
    look_at = "what keeps a hook from its step: every backward is an update"
    return Verdict("updates_skipped", expected, measured, look_at)


def _judge_left_out(case: BackwardCase, seen: Tensor, wanted: Tensor, start: Tensor, expected: str) -> Verdict | None:
    """Find out whether the first backward moved some parameters as it should, and others not at all."""
    if not bool(((seen == start) | (seen - wanted).abs().le(1e-6)).all()):
        return None
    trained = [parameter for parameter in case.make_model().parameters() if parameter.requires_grad]
    parts = torch.split(seen == start, [parameter.numel() for parameter in trained])
    if not any(bool(part.all()) for part in parts):
        return None
    is_biases = [bool(part.all()) for part in parts] == [parameter.dim() < 2 for parameter in trained]
    measured = f"{sum(bool(part.all()) for part in parts)} of {len(parts)} parameters do not move"
    if is_biases:
        return Verdict("biases_left_out", expected, measured, "the parameters of one dimension: they are trained too")
    return Verdict(
        "parameters_left_out", expected, measured, "which parameters get a hook, and whether each hook acts at once"
    )


def _judge_alive(facts: Mapping[str, Any]) -> Verdict | None:
    expected = "one gradient alive at a time, and none after backward"
    if facts["steps_after"]:
        measured = f"{facts['steps_after']} steps after backward"
        return Verdict("step_after_backward", expected, measured, "where step() is called: in a hook, during backward")
    if facts["gradients_left"]:
        measured = f"{facts['gradients_left']} gradients left after backward"
        if facts["early_hooks"]:
            look_at = "register_hook runs before the gradient is written to .grad, where nobody frees it then"
            return Verdict("gradient_after_hook", expected, measured, look_at)
        look_at = "what is left of a gradient in the hook: zeros take as much memory as numbers"
        if facts["nonzero_left"]:
            look_at = "which gradients no hook frees: they stay in .grad until the next backward"
        return Verdict("gradient_left", expected, measured, look_at)
    if facts["gradients_kept"]:
        measured = f"{facts['gradients_kept']} gradients in memory after backward, and not in .grad"
        look_at = "a list, an attribute or a closure that keeps p.grad: a name keeps its tensor alive"
        return Verdict("gradients_kept", expected, measured, look_at)
    if facts["gradients_alive"] > 1:
        measured = f"{facts['gradients_alive']} gradients alive together"
        look_at = "how long a gradient is kept: its own hook is the place to use it and to free it"
        return Verdict("gradients_wait", expected, measured, look_at)
    if not facts["steps_inside"]:
        measured = "no step of an optimizer that make_optimizer made"
        return Verdict("optimizer_not_used", expected, measured, "which optimizer updates: the one that is handed over")
    return None


def _judge_made(facts: Mapping[str, Any]) -> Verdict | None:
    if not facts["made_twice"]:
        return None
    measured = f"{facts['made_twice']} parameters that are given to make_optimizer again"
    look_at = "where make_optimizer is called: one optimizer for each parameter, or one for all"
    return Verdict("optimizer_made_twice", "optimizers that are made once", measured, look_at)


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
            torch.autograd.backward(case.loss(model(batch)))
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
