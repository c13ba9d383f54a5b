"""Judges a checkpoint written by hand: outputs, gradients, random numbers, and what ran when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, Comparison, compare
from grader.judging.kept import keep_cases
from grader.judging.lessons.gradient_checkpointing.runs import judge_modes, judge_outputs, judge_parameters
from grader.judging.misconceptions import Misconception, Table
from grader.judging.vectors import tensors_of
from grader.lessons.gradient_checkpointing.functions import FunctionCase, function_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

EQUAL = "the gradients of the plain blocks"
ROUNDED = 0.02  # relative: below it is what an input in bfloat16 or float16 changes


@dataclass(frozen=True)
class Reference:
    """What the plain blocks yield.

    Attributes:
        outputs: Output of the last block.
        gradient: Gradients of all trainable parameters, in one vector.
        input_gradient: Gradient of the input; None where it needs none.
        calls: How many blocks are called.
    """

    outputs: Tensor
    gradient: Tensor
    input_gradient: Tensor | None
    calls: int


@dataclass(frozen=True)
class Setting:
    """A checkpoint on one case.

    Attributes:
        facts: What was recorded of the runs of the blocks.
        tensors: "outputs", "gradient" and, where there is one, "input_gradient".
        case: The case.
        reference: What the plain blocks yield.
    """

    facts: Mapping[str, Any]
    tensors: Mapping[str, Tensor]
    case: FunctionCase
    reference: Reference

    @property
    def forwards(self) -> int:
        """Runs in forward."""
        return len(self.facts["forwards"])

    @property
    def recomputed(self) -> int:
        """Runs in backward."""
        return len(self.facts["recomputed"])

    @property
    def calls(self) -> int:
        """How many blocks are called."""
        return self.reference.calls

    @cached_property
    def comparison(self) -> Comparison:
        """The gradient of the parameters against that of the plain blocks."""
        return compare(self.tensors["gradient"], self.reference.gradient)

    @property
    def factor(self) -> str:
        """The factor between the two."""
        return f"{self.comparison.factor:.4g}"

    @property
    def has_input_gradient(self) -> bool:
        """Whether the input has a gradient."""
        return "input_gradient" in self.tensors and bool(self.tensors["input_gradient"].any())


def judge_checkpoint_gradients(observation: Observation, seed: int) -> Verdict:
    """Judge every setting, and report the first that is wrong."""
    settings = [
        Setting(facts, tensors_of(observation, index), case, make_reference(case))
        for index, (case, facts) in enumerate(zip(function_cases(seed), observation.facts["settings"], strict=True))
    ]
    for setting in settings:
        verdict = _judge_setting(setting)
        if verdict:
            return replace(verdict, expected=f"{verdict.expected}, {_describe(setting.case)}")
    largest, calls = max(one.comparison.relative_error for one in settings), sum(one.calls for one in settings)
    measured = f"{calls} blocks, each run twice, with the gradients of the plain blocks (largest error {largest:.0e})"
    return Verdict(PASSED, EQUAL, measured)


def _judge_setting(setting: Setting) -> Verdict | None:
    outputs = setting.tensors["outputs"]
    verdict = judge_modes(setting.facts) or judge_outputs(outputs, setting.reference.outputs)
    if verdict and verdict.code == "other_output" and setting.case.dropout:  # without dropout the outputs were equal
        verdict = OTHER_MASK.verdict(setting, verdict.expected, verdict.measured)
    verdict = verdict or RUNS.judge(setting)
    return verdict or _judge_gradients(setting) or LAST.judge(setting)


def _judge_gradients(setting: Setting) -> Verdict | None:
    facts = setting.facts
    missing = judge_parameters(facts["missing"], setting.tensors["gradient"])
    if missing and not facts["parameters_seen"]:
        return NOT_HANDED_OVER.verdict(setting, missing.expected, missing.measured)
    if missing or setting.comparison.is_equal:
        return missing
    measured = f"gradients that differ from them by {setting.comparison.relative_error:.2g} of their size"
    otherwise = "Look at what torch.autograd.grad is asked for, and in which order backward returns it."
    return GRADIENTS.explain(setting, expected=EQUAL, measured=measured, otherwise=otherwise)


def _is_input_gradient_wrong(setting: Setting) -> bool:
    wanted = setting.reference.input_gradient
    if wanted is None:
        return False
    return not compare(setting.tensors["input_gradient"].flatten(), wanted.flatten()).is_equal


@keep_cases
def make_reference(case: FunctionCase) -> Reference:
    """Run the plain blocks forward and backward."""
    outputs, gradient, input_gradient, calls = _run_plain(case, is_weighted=True)
    return Reference(outputs, gradient, input_gradient, calls)


@keep_cases
def _gradient_of_ones(case: FunctionCase) -> Tensor:
    """Return the gradients when ones arrive at the output of every block, as far as one block goes."""
    return _run_plain(case, is_weighted=False)[1]


def _run_plain(case: FunctionCase, *, is_weighted: bool) -> tuple[Tensor, Tensor, Tensor | None, int]:
    blocks, inputs = case.make_blocks(), case.make_inputs()
    with torch.random.fork_rng(devices=[]):
        outputs = case.run(blocks, inputs, lambda block, states: block(states))
    arriving = case.make_output_weights() if is_weighted else torch.ones_like(outputs)
    torch.autograd.backward(outputs, arriving)
    trainable = [parameter for parameter in nn.ModuleList(blocks).parameters() if parameter.requires_grad]
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trainable]
    return outputs.detach(), torch.cat([g.flatten() for g in gradients]), inputs.grad, len(blocks)


def _describe(case: FunctionCase) -> str:
    if case.is_token_model:
        return "with tokens as input and one block called several times"
    if case.dropout:
        return f"with dropout {case.dropout}"
    if not case.needs_input_gradient:
        return "where the input needs no gradient and some parameters are frozen"
    return "with one block and an input that needs a gradient"


RUN_TWICE = "each of {calls} blocks run once in forward and once in backward"
RUNS_SEEN = "{forwards} runs in forward, {recomputed} in backward"
INPUT_GRADIENT = "the gradient of the input, as the plain blocks give it"
RUNS: Table[Setting] = Table(
    Misconception(
        "input_without_gradient",
        "You give apply no tensor that needs a gradient, so its output needs none. Hand the parameters over, too.",
        shown_by=lambda seen: not seen.facts["needs_gradient"],
        expected="an output that needs a gradient, since the parameters do",
        measured="an output with requires_grad=False",
    ),
    Misconception(
        "not_recomputed",
        "You run no block again. Backward needs what the block computed: run it from its saved input.",
        shown_by=lambda seen: not seen.recomputed and not any(seen.facts["is_graph_made"]),
        expected=RUN_TWICE,
        measured=RUNS_SEEN,
    ),
    Misconception(
        "first_graph_kept",
        "You keep the graph of the first run, which holds all activations. Run the block again in backward.",
        shown_by=lambda seen: not seen.recomputed and seen.facts["has_own_function"],
        expected=RUN_TWICE,
        measured=RUNS_SEEN,
    ),
    Misconception(
        "plain_block_run",
        "You call the block plainly, so its activations are kept. Call CheckpointFunction.apply.",
        shown_by=lambda seen: not seen.recomputed,
        expected=RUN_TWICE,
        measured=RUNS_SEEN,
    ),
    Misconception(
        "run_too_often",
        "You run blocks more than once in forward or in backward. One run in backward serves all gradients.",
        shown_by=lambda seen: max(seen.forwards, seen.recomputed) > seen.calls,
        expected=RUN_TWICE,
        measured=RUNS_SEEN,
    ),
    Misconception(
        "input_changed_in_place",
        "You change the input in place. The second run and other blocks need it as it was.",
        shown_by=lambda seen: not seen.facts["is_input_kept"],
        expected="the input as it was",
        measured="other numbers in it",
    ),
)
NOT_HANDED_OVER: Misconception[Setting] = Misconception(
    "parameters_not_handed_over",
    "You do not hand the parameters to apply, so autograd does not see them. Look at its arguments.",
    shown_by=lambda seen: bool(seen.facts["missing"]) and not seen.facts["parameters_seen"],
)
OTHER_MASK: Misconception[Setting] = Misconception(
    "random_numbers_changed",
    "You draw or seed random numbers before the first run, so its dropout masks change. Only read the state there.",
    shown_by=lambda seen: bool(seen.case.dropout),
)
GRADIENTS: Table[Setting] = Table(
    Misconception(
        "gradient_not_finite",
        "You return NaN or infinity. Look for a division by zero or an overflow.",
        shown_by=lambda seen: not bool(seen.tensors["gradient"].isfinite().all()),
        measured="NaN or infinity",
    ),
    Misconception(
        "random_state_not_replayed",
        "You run the block again from another random state, so dropout draws another mask. Use the state of forward.",
        shown_by=lambda seen: bool(seen.case.dropout),
    ),
    Misconception(
        "rounded_to_fewer_bits",
        "You round a tensor to fewer bits on its way to the second run. Save the input in its own dtype.",
        shown_by=lambda seen: seen.comparison.relative_error < ROUNDED,
    ),
    Misconception(
        "output_gradient_ignored",
        "You leave out output_gradient, so you return the gradients of a plain sum. Pass it to torch.autograd.grad.",
        shown_by=lambda seen: compare(seen.tensors["gradient"], _gradient_of_ones(seen.case)).is_equal,
    ),
    Misconception(
        "gradient_counted_twice",
        "You count each gradient twice. Autograd adds what backward returns to .grad, so nothing else may.",
        shown_by=lambda seen: seen.comparison.residual <= RELATIVE_TOLERANCE and seen.comparison.is_multiple(2),
        measured="exactly 2 times those gradients",
    ),
    Misconception(
        "gradient_scaled",
        "You scale the gradients by {factor}. Look for a product or a division.",
        shown_by=lambda seen: seen.comparison.residual <= RELATIVE_TOLERANCE,
        measured="exactly {factor} times those gradients",
    ),
    Misconception(
        "calls_not_added_up",
        "You lose gradients of a block that is called several times. Look at whether one call overwrites another.",
        shown_by=lambda seen: seen.case.is_token_model,
    ),
)
LAST: Table[Setting] = Table(
    Misconception(
        "input_gradient_missing",
        "You return no gradient of the input, which the blocks before wait for. Look at the second value of backward.",
        shown_by=lambda seen: seen.reference.input_gradient is not None and not seen.has_input_gradient,
        expected=INPUT_GRADIENT,
        measured="no gradient of the input",
    ),
    Misconception(
        "input_gradient_wrong",
        "You return another gradient in the place of the input. Look at the order of what backward returns.",
        shown_by=_is_input_gradient_wrong,
        expected=INPUT_GRADIENT,
        measured="another gradient of the input",
    ),
    Misconception(
        "some_blocks_run_plainly",
        "You run some blocks plainly, and keep their activations. Look at when a block is checkpointed.",
        shown_by=lambda seen: seen.recomputed != seen.calls and 0 in seen.facts["recomputed"],
        expected=RUN_TWICE,
        measured=RUNS_SEEN,
    ),
    Misconception(
        "first_block_run_plainly",
        "You run the first block plainly, because its input needs no gradient. Checkpoint it, too.",
        shown_by=lambda seen: seen.recomputed != seen.calls,
        expected=RUN_TWICE,
        measured=RUNS_SEEN,
    ),
    Misconception(
        "random_state_left_behind",
        "You leave the random state of the second run behind, so later masks repeat. Restore the state from before it.",
        shown_by=lambda seen: not seen.facts["is_random_state_kept"],
        expected="the random state after backward as it was before backward",
        measured="another random state",
    ),
)
