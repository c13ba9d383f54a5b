"""Judges updates inside the backward pass: the weights of the plain loop, with one gradient in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.adamw.backward import BackwardCase, backward_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Install = Callable[[nn.Module, Callable[[Any], torch.optim.Optimizer]], None]


def step_in_backward(model: nn.Module, make_optimizer: Callable[[Any], torch.optim.Optimizer]) -> None:
    """Make each backward pass of a model update its weights."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizers = {parameter: make_optimizer([parameter]) for parameter in trained}

    def update(parameter: Any) -> None:
        optimizers[parameter].step()
        parameter.grad = None

    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(update)  # type: ignore[no-untyped-call]


# The parts of the reference that misconceptions edit.
TRAINED = "if parameter.requires_grad]"
OWN, STEP, FREED = "optimizers[parameter]", "optimizers[parameter].step()", "parameter.grad = None"


def judge_adam_in_backward(observation: Observation, seed: int) -> Verdict:
    """Judge the weights after every backward pass, then which gradients were in memory."""
    cases = backward_cases(seed)
    weights = [
        torch.cat([_flat(case.make_model())[None], observation.tensors[f"{number}.weights"]])
        for number, case in enumerate(cases)
    ]
    answer = TABLE.answer(seed, weights)
    for number, facts in enumerate(observation.facts["settings"]):
        backwards = Backwards(facts, weights[number])
        verdict = USE.judge(backwards)
        verdict = verdict or _judge_weights(answer.only(number), backwards) or MEMORY.judge(backwards, ONE_GRADIENT)
        if verdict:
            return verdict
    count = sum(case.batches for case in cases)
    measured = (
        f"{count} backward passes that end in the weights of the plain loop, with one gradient in memory at a time"
    )
    return Verdict(PASSED, "the weights of the plain loop", measured)


def _judge_weights(answer: Answer, backwards: Backwards) -> Verdict | None:
    if answer.is_right:
        return None
    expected, measured = "after every backward pass, the weights of backward, step and zero_grad", "NaN or infinity"
    seen, wanted = answer.value, answer.truth
    if bool(seen.isfinite().all()):
        error = compare(seen[-1] - seen[0], wanted[-1] - seen[0]).relative_error
        measured = f"weights that are off by {error:.2g} of their movement"
    return CAUSES.judge(backwards, expected, measured) or TABLE.explain(
        answer,
        expected=expected,
        measured=measured,
        otherwise="Your weights differ in a way that is not a common one. Look at one parameter: in which order is its "
        "gradient written, its weight updated and its gradient freed?",
    )


@dataclass(frozen=True, eq=False)
class Backwards:
    """What happened in the backward passes of one model.

    Attributes:
        facts: What was recorded.
        weights: All trained weights before the first backward pass and after each, [1 + batches, numbers].
    """

    facts: Mapping[str, Any]
    weights: Tensor


USE = Table[Backwards](
    Misconception(
        "another_optimizer",
        "You update with an optimizer of your own. Use those that make_optimizer makes.",
        shown_by=lambda backwards: backwards.facts["steps_of_others"] > 0,
        expected="steps of the optimizers that make_optimizer makes",
        measured="{facts[steps_of_others]} steps of others",
    ),
    Misconception(
        "frozen_trained",
        "You turn requires_grad on for frozen parameters. A hook is for parameters that have it already.",
        shown_by=lambda backwards: backwards.facts["unfrozen"] > 0,
        expected="parameters that stay frozen",
        measured="{facts[unfrozen]} frozen parameters that have requires_grad now",
    ),
)

CAUSES = Table[Backwards](
    Misconception(
        "step_outside_backward",
        "You call step() outside the backward pass. Call it in a hook.",
        shown_by=lambda backwards: backwards.facts["steps_after"] > 0 and not backwards.facts["steps_inside"],
        measured="{facts[steps_after]} steps, none of them during a backward pass",
    ),
    Misconception(
        "hook_before_gradient",
        "You use register_hook, whose hooks run before the gradient is added to .grad. Use "
        "register_post_accumulate_grad_hook.",
        shown_by=lambda backwards: backwards.facts["early_hooks"] > 0,
    ),
    Misconception(
        "hook_of_module",
        "You register hooks on modules. They run before all gradients of the module's parameters are in .grad: "
        "register them on parameters.",
        shown_by=lambda backwards: backwards.facts["module_hooks"] > 0,
    ),
    Misconception(
        "update_of_nothing",
        "You call step() when no gradient is there, so no weight moves. Call it before the gradient is freed.",
        shown_by=lambda backwards: _never_moves(backwards.weights) and backwards.facts["steps_inside"] > 0,
        measured="weights that never move, {facts[steps_inside]} steps during backward passes",
    ),
    Misconception(
        "no_update",
        "You never take a step with a gradient of the model's own parameters, so no weight moves. Register a hook that "
        "does; a clone is another parameter.",
        shown_by=lambda backwards: _never_moves(backwards.weights),
        measured="weights that never move",
    ),
    Misconception(
        "optimizers_not_used",
        "You update by a rule of your own. Use the optimizers that make_optimizer makes: call their step().",
        shown_by=lambda backwards: not backwards.facts["steps_inside"] + backwards.facts["steps_after"],
    ),
)

ONE_GRADIENT = "one gradient in memory at a time, and none after the backward pass"
MEMORY = Table[Backwards](
    Misconception(
        "step_after_backward",
        "You also call step() after the backward pass. Call it in hooks only.",
        shown_by=lambda backwards: backwards.facts["steps_after"] > 0,
        measured="{facts[steps_after]} steps after a backward pass",
    ),
    Misconception(
        "gradient_after_hook",
        "You use register_hook, which runs before the gradient is written to .grad, and then nothing frees it. Use "
        "register_post_accumulate_grad_hook.",
        shown_by=lambda backwards: backwards.facts["gradients_left"] > 0 and backwards.facts["early_hooks"] > 0,
        measured="{facts[gradients_left]} gradients left after a backward pass",
    ),
    Misconception(
        "gradient_left",
        "You leave gradients in .grad until the next backward pass. Free each of them in its own hook.",
        shown_by=lambda backwards: backwards.facts["nonzero_left"] > 0,
        measured="{facts[gradients_left]} gradients left after a backward pass",
    ),
    Misconception(
        "zeros_left",
        "You fill gradients with zeros, which take as much memory as any numbers. Set .grad to None.",
        shown_by=lambda backwards: backwards.facts["gradients_left"] > 0,
        measured="{facts[gradients_left]} gradients of zeros left after a backward pass",
    ),
    Misconception(
        "gradients_kept",
        "You keep gradients in a list, an attribute or a closure. A name keeps its tensor in memory, also when .grad "
        "is None.",
        shown_by=lambda backwards: backwards.facts["gradients_kept"] > 0,
        measured="{facts[gradients_kept]} gradients in memory after a backward pass, and not in .grad",
    ),
    Misconception(
        "gradients_wait",
        "You let gradients wait for each other. Use and free each of them in its own hook.",
        shown_by=lambda backwards: backwards.facts["gradients_alive"] > 1,
        measured="{facts[gradients_alive]} gradients in memory at once",
    ),
    Misconception(
        "optimizer_not_used",
        "You make optimizers and never call their step(). Update with them.",
        shown_by=lambda backwards: not backwards.facts["steps_inside"],
        expected="steps of the optimizers that make_optimizer makes",
        measured="no step of any of them",
    ),
    Misconception(
        "optimizer_made_twice",
        "You call make_optimizer more than once for a parameter. Each optimizer takes memory for its state: make one.",
        shown_by=lambda backwards: backwards.facts["made_twice"] > 0,
        expected="one optimizer for each parameter",
        measured="{facts[made_twice]} parameters that are given to make_optimizer again",
    ),
)


def _never_moves(weights: Tensor) -> bool:
    return torch.equal(weights[1:], weights[0].expand_as(weights[1:]))


def _still(answer: Answer) -> list[int]:
    """Return the backward passes, counted from 1, in which no weight moves."""
    weights = answer.values[answer.indices[0]]
    return [number for number in range(1, len(weights)) if torch.equal(weights[number], weights[number - 1])]


def _parts_left_out(answer: Answer) -> bool:
    """Return whether the first backward pass moves some parameters rightly, and others not at all."""
    seen, wanted = answer.value, answer.truth
    is_still = seen[1] == seen[0]
    sizes = [one.numel() for one in answer.case.make_model().parameters() if one.requires_grad]
    is_right = (seen[1] - wanted[1]).abs() <= 1e-6
    return bool((is_still | is_right).all()) and any(bool(part.all()) for part in torch.split(is_still, sizes))


def _is_scaled(answer: Answer) -> bool:
    """Return whether the first update has the right direction, and another length."""
    seen, wanted = answer.value, answer.truth
    return compare(seen[1] - seen[0], wanted[1] - seen[0]).residual <= 10 * RELATIVE_TOLERANCE


def _run(install: Install, case: BackwardCase) -> Tensor:
    """Return all trained weights before the first backward pass and after each, [1 + batches, numbers]."""
    model = case.make_model()
    rows = [_flat(model)]
    with torch.enable_grad():
        install(model, case.make_optimizer)
        for batch in case.make_batches():
            torch.autograd.backward(case.loss(model(batch)))
            rows.append(_flat(model))
    return torch.stack(rows)


def _flat(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters() if parameter.requires_grad])


def _is_near(seen: Tensor, wanted: Tensor) -> bool:
    """Return whether weights are equal after every backward pass, relative to how far they have moved."""
    difference = torch.linalg.vector_norm(seen.double() - wanted.double(), dim=1)
    return bool((difference <= RELATIVE_TOLERANCE * torch.linalg.vector_norm(wanted - wanted[0], dim=1)).all())


TABLE = ReferenceTable(
    step_in_backward,
    Misconception(
        "gradient_not_freed",
        "You do not free the gradient after the step, so the next backward pass adds to it. Set .grad to None in the "
        "hook.",
        {FREED: "pass"},
    ),
    Misconception(
        "optimizer_made_in_hook",
        "You make a new optimizer in each call of the hook, which has forgotten the momentum of the steps before. "
        "Make it once, outside the hook.",
        {STEP: "make_optimizer([parameter]).step()"},
    ),
    Misconception(
        "gradient_clipped",
        "You clip the gradient in the hook, which the contract does not ask for. One gradient alone has no global "
        "norm.",
        {STEP: f"nn.utils.clip_grad_norm_([parameter], 1.0); {STEP}"},
        variants=[{STEP: f"nn.utils.clip_grad_value_([parameter], 1.0); {STEP}"}],
    ),
    Misconception(
        "stepped_twice",
        "You take two steps with one gradient. Look at how often step() is called for one parameter in a backward "
        "pass.",
        {STEP: f"{STEP}; {STEP}"},
    ),
    Misconception(
        "last_optimizer_for_all",
        "You step the last optimizer in every hook. A hook reads the name when it runs, and the loop has left its last "
        "value there: bind each optimizer to its hook.",
        {STEP: "optimizers[trained[-1]].step()"},
    ),
    Misconception(
        "updates_skipped",
        "You do not update in every backward pass. Look at what keeps a hook from its step.",
        shown_by=lambda answer: bool(_still(answer)),
    ),
    Misconception(
        "biases_left_out",
        "You update no parameter of one dimension. Biases are trained, too.",
        {TRAINED: "if parameter.requires_grad and parameter.dim() > 1]"},
    ),
    Misconception(
        "parameters_left_out",
        "You leave some parameters where they are. Look at which parameters get a hook, and whether each hook acts at "
        "once.",
        shown_by=_parts_left_out,
    ),
    Misconception(
        "gradient_scaled",
        "You multiply the gradient or the learning rate by a factor. Take both as they are.",
        shown_by=_is_scaled,
    ),
    run=_run,
    cases=backward_cases,
    is_near=_is_near,
)
