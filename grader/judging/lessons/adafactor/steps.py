"""Judges Adafactor's step written by hand: the weights of transformers' Adafactor, from a factored state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from grader.judging.lessons.adafactor.second_moment import (
    BETA,
    IS_MATRIX,
    SECOND_MOMENT,
    factored_second_moment,
)
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import VISIBLE_SEED, Answer, ReferenceTable
from grader.judging.step_paths import is_near, say_movement
from grader.lessons.adafactor.updates import STEPS, AdafactorCase, adafactor_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

# Two float32 runs of the same 20 steps differ by about 3e-6 of their movement; the smallest mistake by 1e-3.
TOLERANCE = 1e-4
MOST_COUNTERS = 4  # a step count may be a tensor of one number, and there may be a few of them

Weights = list[Tensor]  # of all tensors, [numbers]


def adafactor_step(optimizer: Any) -> None:
    """Take one step of Adafactor with all groups."""
    for group in optimizer.param_groups:
        for weight in group["params"]:
            lr, weight_decay, eps = group["lr"], group["weight_decay"], group["eps"]
            decay_rate, clip_threshold = group["decay_rate"], group["clip_threshold"]
            scale_parameter = group["scale_parameter"]
            if weight.grad is None:
                continue
            gradient, state = weight.grad, optimizer.state[weight]
            second = factored_second_moment(gradient, state, decay_rate, eps)
            update = gradient / second.sqrt()
            update = update / (root_mean_square(update) / clip_threshold).clamp(min=1.0)
            rate = lr
            if scale_parameter:
                rate = lr * root_mean_square(weight).clamp(min=1e-3)
            weight.mul_(1 - rate * weight_decay)
            weight.sub_(rate * update)


def root_mean_square(tensor: Tensor) -> Tensor:
    """Return the root of the mean of the squares."""
    return tensor.square().mean().sqrt()


def judge_adafactor_steps(observation: Observation, seed: int) -> Verdict:
    """Judge the weights after each step, and what each state keeps."""
    cases, settings = adafactor_cases(seed), observation.facts["settings"]
    for case, facts in zip(cases, settings, strict=True):
        for index, is_changed in enumerate(facts["is_gradient_changed"]):
            if is_changed:
                look_at = (
                    "You write into the gradient. Make a new tensor instead: look for an operation that ends in _."
                )
                expected = f"the gradient as it was ({describe(case, index)})"
                return Verdict("gradient_changed", expected, "another gradient after the step", look_at)
    drawn = TABLE.reference.cases(seed)
    answer = TABLE.answer(seed, [_read(own, number, observation) for number, own in enumerate(drawn)])
    if not answer.is_right:
        return _explain(answer)
    for case, facts in zip(cases, settings, strict=True):
        for index, elements in enumerate(facts["state_elements"]):
            verdict = KEPT.judge(Kept(case, index, elements))
            if verdict:
                return verdict
    tensors = sum(len(case.shapes) for case in cases)
    measured = f"{tensors} tensors that follow Adafactor for {STEPS} steps, matrices with a state of rows and columns"
    return Verdict(PASSED, "the steps of Adafactor", measured)


@dataclass(frozen=True)
class Drawn:
    """A case with its weights and gradients, drawn once, in float64.

    Attributes:
        case: The case.
        weights: Each tensor at the start.
        gradients: Of each step, the gradient of each tensor, or None.
    """

    case: AdafactorCase
    weights: list[Tensor]
    gradients: list[list[Tensor | None]]


def draw(case: AdafactorCase) -> Drawn:
    """Draw the weights and gradients of a case."""
    steps = (case.gradients(step) for step in range(1, STEPS + 1))
    gradients = [[None if gradient is None else gradient.double() for gradient in row] for row in steps]
    return Drawn(case, [weight.double() for weight in case.make_weights()], gradients)


class Path(Sequence[Weights]):
    """The weights before the first step and after each; steps are taken when they are asked for.

    Most misconceptions show at the first step, so the others need not be taken to rule them out.
    """

    def __init__(self, step: Callable[[Any], None], drawn: Drawn):
        self.step, self.drawn = step, drawn
        self.weights = [weight.clone() for weight in drawn.weights]
        case = drawn.case
        groups = [
            {"params": [self.weights[index] for index in case.members(group)]} for group in range(len(case.decays))
        ]
        self.optimizer = SimpleNamespace(param_groups=groups, state=defaultdict(dict))
        self.taken = [[weight.flatten() for weight in drawn.weights]]

    def __len__(self) -> int:
        return 1 + STEPS

    def __getitem__(self, number: Any) -> Any:
        while len(self.taken) <= number < len(self):
            self._take(len(self.taken))
        return self.taken[number]

    def _take(self, number: int) -> None:
        for index, group in enumerate(self.optimizer.param_groups):
            group.update(self.drawn.case.options(index, number))
        for weight, gradient in zip(self.weights, self.drawn.gradients[number - 1], strict=True):
            weight.grad = gradient
        self.step(self.optimizer)
        self.taken.append([weight.flatten().clone() for weight in self.weights])


def describe(case: AdafactorCase, index: int, step: int = 1) -> str:
    """Name a tensor of a case and its options at a step, counted from 1."""
    shape = " x ".join(map(str, case.shapes[index])) or "single"
    options = case.options(case.groups[index], step).items()
    named = (f"{name} {value if isinstance(value, bool) else f'{value:g}'}" for name, value in options)
    return f"{shape} numbers, {', '.join(named)}"


def _read(drawn: Drawn, number: int, observation: Observation) -> list[Weights]:
    """Read the weights before the first step and after each."""
    starts = [weight.flatten() for weight in drawn.weights]
    rows = [observation.tensors[f"{number}.{index}"].double() for index in range(len(starts))]
    if any(own.shape != (STEPS, start.numel()) for own, start in zip(rows, starts, strict=True)):
        raise ValueError("weights of another shape")
    return [starts, *(list(weights) for weights in zip(*rows, strict=True))]


def _find_miss(seen: Sequence[Weights], wanted: Sequence[Weights]) -> tuple[int, int] | None:
    """Return the first step and tensor that differ; a tensor is left alone once both are infinite or NaN in float32."""
    ran_off: set[int] = set()
    for step in range(1, 1 + STEPS):
        for index, (own, right) in enumerate(zip(seen[step], wanted[step], strict=True)):
            if not own.isfinite().all() and not right.float().isfinite().all():
                ran_off.add(index)
            if index not in ran_off and not is_near(own, right, wanted[0][index], TOLERANCE):
                return step, index
    return None


def _explain(answer: Answer) -> Verdict:
    case: AdafactorCase = answer.case.case
    seen, wanted = answer.value, answer.truth
    step, index = _find_miss(seen, wanted) or (1, 0)
    return TABLE.explain(
        answer,
        expected=f"after step {step}, the weights of Adafactor ({describe(case, index, step)})",
        measured=say_movement(seen[step][index], wanted[step][index], wanted[0][index]),
        otherwise=_otherwise(case, step, index),
    )


def _otherwise(case: AdafactorCase, step: int, index: int) -> str:
    """Say where to look where no misconception takes these steps."""
    when = "Look at the update line by line at step 1, where beta is 0."
    if step > 1:
        when = (
            f"The steps before are right: look at what is kept or counted, and at the options that step {step} changes."
        )
    return f"The tensor of shape {tuple(case.shapes[index])} differs first, at step {step}. {when}"


def _never_moves(answer: Answer) -> bool:
    rows = [(row, path[0]) for path in answer.values for row in path]
    return all(torch.equal(own, start) for row, starts in rows for own, start in zip(row, starts, strict=True))


def _with_visible_options(seed: int) -> list[Drawn]:
    names = ("decay_rates", "decays", "clip_thresholds")
    pairs = zip(adafactor_cases(seed), adafactor_cases(VISIBLE_SEED), strict=True)
    return [draw(replace(case, **{name: getattr(visible, name) for name in names})) for case, visible in pairs]


# The parts of the reference that misconceptions edit.
OPTIONS = ("lr", "weight_decay", "eps", "decay_rate", "clip_threshold", "scale_parameter")
SKIP = "if weight.grad is None:\n                continue"
READ = "gradient, state = weight.grad, optimizer.state[weight]"
SECOND = "factored_second_moment(gradient, state, decay_rate, eps)"
UPDATE = "gradient / second.sqrt()"
CLIP = "update / (root_mean_square(update) / clip_threshold).clamp(min=1.0)"
IF_SCALED = "if scale_parameter:"
SCALE = "root_mean_square(weight).clamp(min=1e-3)"
DECAY = "weight.mul_(1 - rate * weight_decay)"
MOVE = "weight.sub_(rate * update)"


def _read_from(place: str, *options: str) -> dict[str, str]:
    """Return the edit that reads options from another place."""
    lines = [f"{name} = {place.format(name=name)}" for name in options]
    return {SKIP: "; ".join(lines) + f"\n            {SKIP}"}


FIRST_GROUP = "optimizer.param_groups[0]['{name}']"
AT_START = "group.setdefault('first_{name}', group['{name}'])"
ADAM = """
            state['mean'] = 0.9 * state.get('mean', 0.0) + 0.1 * gradient
            state['square'] = 0.999 * state.get('square', 0.0) + 0.001 * gradient.square()
            state['step'] = state.get('step', 0) + 1
            root = (state['square'] / (1 - 0.999 ** state['step'])).sqrt()
            update = state['mean'] / (1 - 0.9 ** state['step']) / (root + 1e-8)"""


@dataclass(frozen=True)
class Kept:
    """What the state of a tensor keeps.

    Attributes:
        case: The tensors.
        index: Which tensor it is.
        elements: Numbers in tensors of its state.
    """

    case: AdafactorCase
    index: int
    elements: int

    @property
    def is_updated(self) -> bool:
        """Whether it ever has a gradient."""
        return self.case.first_steps.get(self.index, 1) <= STEPS

    @property
    def least(self) -> int:
        """Numbers of its second moment."""
        shape = self.case.shapes[self.index]
        whole = torch.Size(shape).numel()
        factored = torch.Size(shape[:-2]).numel() * sum(shape[-2:])
        return 0 if not self.is_updated else factored if len(shape) > 1 else whole

    @property
    def named(self) -> str:
        """The tensor and its options, in words."""
        return describe(self.case, self.index)


STATE = "{least} numbers of second moment ({named})"

KEPT = Table[Kept](
    Misconception(
        "means_kept_elsewhere",
        "You keep the means elsewhere than in `optimizer.state[parameter]`, which is what a checkpoint saves.",
        shown_by=lambda kept: kept.elements < kept.least,
        expected=STATE,
        measured="{elements} numbers in tensors of its state",
    ),
    Misconception(
        "state_without_gradient",
        "You make a state for a tensor that never has a gradient. Skip it before you touch its state.",
        shown_by=lambda kept: not kept.is_updated and kept.elements > 0,
        expected="no state: no gradient",
        measured="{elements} numbers in tensors of its state",
    ),
    Misconception(
        "state_too_large",
        "You keep more than the means and a count. The next step needs nothing else.",
        shown_by=lambda kept: kept.elements > kept.least + MOST_COUNTERS,
        expected=STATE,
        measured="{elements} numbers in tensors of its state",
    ),
)

TABLE = ReferenceTable(
    (adafactor_step, factored_second_moment, root_mean_square),
    Misconception(
        "weight_not_changed",
        "You change no weight: `weight = ...` only names a new tensor. Change the weight in place (-=, sub_).",
        shown_by=_never_moves,
        measured="weights that never move",
    ),
    Misconception(
        "update_not_in_place",
        "You shrink the weight, and never move it by the update: `weight = weight - ...` only names a new tensor. "
        "Use -= or sub_().",
        {MOVE: "pass"},
    ),
    Misconception(
        "sign_turned",
        "You add the update, so the loss rises. Subtract it.",
        {MOVE: "weight.add_(rate * update)"},
    ),
    Misconception(
        "root_forgotten",
        "You divide the gradient by V itself. Divide by the root of V.",
        {UPDATE: "gradient / second"},
    ),
    Misconception(
        "tensor_not_updated",
        "You end the loop at a tensor without gradient, so the tensors after it stay as they are. "
        "`continue` skips one tensor; `break` and `return` leave the others out.",
        {SKIP: SKIP.replace("continue", "break")},
        variants=[{SKIP: SKIP.replace("continue", "return")}],
    ),
    Misconception(
        "sgd_step",
        "You step along the gradient itself. Divide it by the root of the second moment.",
        {UPDATE: "gradient", CLIP: "update"},
        variants=[{UPDATE: "gradient", CLIP: "update", IF_SCALED: "if False:"}],
    ),
    Misconception(
        "adam_step",
        "You take Adam's step, with two moments and betas. Adafactor has one second moment, which is factored.",
        {
            f"\n            second = {SECOND}\n            update = {UPDATE}": ADAM,
            CLIP: "update",
            IF_SCALED: "if False:",
        },
        variants=[{f"\n            second = {SECOND}\n            update = {UPDATE}": ADAM, CLIP: "update"}],
    ),
    Misconception(
        "step_of_the_lesson",
        "You take the step of the lesson's cell: it keeps the whole second moment and has neither scale nor decay. "
        "The contract asks for all three.",
        {IS_MATRIX: "False", IF_SCALED: "if False:", DECAY: "pass"},
    ),
    Misconception(
        "stack_flattened",
        "You flatten a stack of matrices into one matrix. Rows and columns are the last two dimensions.",
        {
            READ: f"{READ}\n            matrix = gradient.flatten(1) if gradient.dim() > 2 else gradient",
            SECOND: "factored_second_moment(matrix, state, decay_rate, eps).reshape(gradient.shape)",
        },
    ),
    Misconception(
        "update_not_clipped",
        "You do not clip the update. Divide it where its RMS is above clip_threshold.",
        {CLIP: "update"},
    ),
    Misconception(
        "always_normalised",
        "You divide every update by its RMS. max(1, RMS / clip_threshold) leaves a short update as it is.",
        {CLIP: "update / (root_mean_square(update) / clip_threshold)"},
    ),
    Misconception(
        "gradient_clipped_first",
        "You clip the gradient before the means take it in. Clip the update instead.",
        {
            READ: f"{READ}\n"
            "            gradient = gradient / (root_mean_square(gradient) / clip_threshold).clamp(min=1.0)",
            CLIP: "update",
        },
    ),
    Misconception(
        "smaller_for_larger",
        "You divide by the smaller of 1 and RMS / clip_threshold, so short updates grow. Divide by the larger.",
        {CLIP: "update / (root_mean_square(update) / clip_threshold).clamp(max=1.0)"},
    ),
    Misconception(
        "threshold_multiplied",
        "You multiply the RMS by clip_threshold. The RMS is divided by it.",
        {CLIP: "update / (root_mean_square(update) * clip_threshold).clamp(min=1.0)"},
    ),
    Misconception(
        "norm_for_rms",
        "You clip by the norm, which is longer than the RMS by the root of the number of elements. "
        "Take the root of the mean square.",
        {CLIP: "update / (update.norm() / clip_threshold).clamp(min=1.0)"},
    ),
    Misconception(
        "threshold_not_read",
        "You clip at 1 whatever the threshold is. Read clip_threshold from the group.",
        {CLIP: "update / root_mean_square(update).clamp(min=1.0)"},
    ),
    Misconception(
        "momentum_kept",
        "You keep a running mean of updates. Momentum is not asked for, and costs a number for each parameter.",
        {
            f"update = {CLIP}": f"state['mean'] = 0.9 * state.get('mean', 0.0) + 0.1 * ({CLIP})\n"
            "            update = state['mean']"
        },
    ),
    *SECOND_MOMENT,
    Misconception(
        "count_one_behind",
        "You compute beta from the count before it grows. Raise the count first: at a tensor's first step it is 1.",
        {BETA: "1 - max(1, step - 1) ** decay_rate"},
    ),
    Misconception(
        "epsilon_at_root",
        "You add eps to the root of V, as Adam does. Add it to each square, before the means.",
        {SECOND: SECOND.replace("eps", "0.0"), UPDATE: "gradient / (second.sqrt() + eps)"},
    ),
    Misconception(
        "second_epsilon",
        "You add a second epsilon where you divide by the root of V, or bound the root. "
        "eps is in each square already, and nowhere else.",
        {UPDATE: "gradient / (second.sqrt() + eps)"},
        variants=[
            *({UPDATE: f"gradient / (second.sqrt() + {value})"} for value in (1e-8, 1e-6)),
            *({UPDATE: f"gradient / (second + {value}).sqrt()"} for value in (1e-8, 1e-6)),
            {UPDATE: f"gradient / second.sqrt().clamp(min={2**-23})"},  # of float32, as torch.finfo has it
            *({UPDATE: f"gradient / second.clamp(min={value}).sqrt()"} for value in (1e-12, 1e-10, 1e-8)),
            {UPDATE: "gradient / second.clamp(min=1e-12).sqrt() if gradient.dim() > 1 else gradient / second.sqrt()"},
        ],
    ),
    Misconception(
        "scale_left_out",
        "You ignore scale_parameter. Where it is True, the rate is lr times the RMS of the weight, at least 1e-3.",
        {IF_SCALED: "if False:"},
    ),
    Misconception(
        "always_scaled",
        "You scale the rate of every group by the weight. Where scale_parameter is False, the rate is lr.",
        {IF_SCALED: "if True:"},
    ),
    Misconception(
        "no_smallest_scale",
        "You let the scale fall below 1e-3, so weights of zero never move. Take the larger of 1e-3 and the RMS.",
        {SCALE: "root_mean_square(weight)"},
        variants=[{SCALE: "root_mean_square(weight).clamp(min=eps)"}],
    ),
    Misconception(
        "norm_of_weight",
        "You scale by the norm of the weight. Scale by its RMS, the root of the mean square.",
        {SCALE: "weight.norm().clamp(min=1e-3)"},
    ),
    Misconception(
        "relative_rate",
        "You bound the rate by 1 / sqrt(step), as PyTorch's Adafactor does. Here the rate starts from lr alone.",
        {"rate = lr\n": "rate = lr = min(lr, state['step'] ** -0.5)\n"},
    ),
    Misconception(
        "rate_bounded",
        "You keep the rate at 1e-3 at least. Only the RMS of the weight has this bound.",
        {"rate = lr\n": "rate = max(lr, 1e-3)\n"},
    ),
    Misconception(
        "decay_left_out",
        "You leave out the weight decay. The weight shrinks by 1 - rate * weight_decay.",
        {DECAY: "pass"},
    ),
    Misconception(
        "decay_without_rate",
        "You shrink the weight by weight_decay alone. Multiply it by the rate.",
        {DECAY: "weight.mul_(1 - weight_decay)"},
    ),
    Misconception(
        "decay_before_rate",
        "You shrink the weight before the rate is scaled, so the RMS is that of the smaller weight. "
        "Compute the rate first.",
        {"rate = lr\n": "rate = lr\n            weight.mul_(1 - rate * weight_decay)\n", DECAY: "pass"},
    ),
    Misconception(
        "decay_in_gradient",
        "You add the decay to the gradient, so the second moment sees it. Shrink the weight instead.",
        {READ: f"{READ}\n            gradient = gradient + weight_decay * weight", DECAY: "pass"},
    ),
    Misconception(
        "decay_after_update",
        "You let the weight decay after the update. It decays first.",
        {DECAY: MOVE, MOVE: DECAY},
    ),
    Misconception(
        "decay_with_unscaled_rate",
        "You shrink the weight by lr * weight_decay. The decay takes the rate as it is scaled.",
        {DECAY: "weight.mul_(1 - lr * weight_decay)"},
    ),
    Misconception(
        "missing_gradient_zero",
        "You treat a missing gradient as a gradient of zeros. Skip a tensor whose .grad is None.",
        {
            SKIP: "",
            READ: "gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad\n"
            "            state = optimizer.state[weight]",
        },
    ),
    Misconception(
        "zero_gradient_skipped",
        "You skip a gradient of zeros. Its means forget and its weight decays: skip None only.",
        {SKIP: SKIP.replace("is None", "is None or not weight.grad.any()")},
    ),
    Misconception(
        "one_count_for_all",
        "You raise the count of a tensor at steps where it has no gradient. Give each tensor a count of its own, "
        "and raise it after the skip.",
        {
            "optimizer.param_groups:": "optimizer.param_groups:\n        group['count'] = group.get('count', 0) + 1",
            READ: f"{READ}; state['step'] = group['count'] - 1",
        },
    ),
    Misconception(
        "options_of_first_group",
        "You read an option of the first group for all tensors. Read every option from the group of the tensor.",
        _read_from(FIRST_GROUP, *OPTIONS),
        variants=[
            _read_from(FIRST_GROUP, "lr", "weight_decay", "clip_threshold", "scale_parameter"),
            *(_read_from(FIRST_GROUP, name) for name in OPTIONS),
        ],
    ),
    Misconception(
        "options_kept_from_start",
        "You read an option once and keep it, but a schedule may change it. Read every option in each step.",
        _read_from(AT_START, *OPTIONS),
        variants=[_read_from(AT_START, name) for name in OPTIONS],
    ),
    Misconception(
        "visible_case_hard_coded",
        "You use the options of the groups in the notebook. Read each option from its group.",
        on=_with_visible_options,
    ),
    run=Path,
    cases=lambda seed: [draw(case) for case in adafactor_cases(seed)],
    is_near=lambda seen, wanted: _find_miss(seen, wanted) is None,
)
