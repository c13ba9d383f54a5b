"""Verdict on a checkpoint written by hand: outputs, gradients, random numbers, and what ran when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.lessons.gradient_checkpointing.runs import judge_modes, judge_outputs, judge_parameters
from grader.judging.vectors import tensors_of
from grader.lessons.gradient_checkpointing.functions import FunctionCase, function_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

EQUAL = "the gradients of the plain blocks"


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


def judge_checkpoint_gradients(observation: Observation, seed: int) -> Verdict:
    """Judge every setting; the first miss is told."""
    cases, largest = function_cases(seed), 0.0
    for index, case in enumerate(cases):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        reference = make_reference(case)
        verdict = _judge_setting(facts, tensors, case, reference)
        if verdict:
            return replace(verdict, expected=f"{verdict.expected}, {_describe(case)}")
        largest = max(largest, compare(tensors["gradient"], reference.gradient).relative_error)
    calls = sum(make_reference(case).calls for case in cases)
    measured = f"{calls} blocks, each run twice, with the gradients of the plain blocks (largest error {largest:.0e})"
    return Verdict(PASSED, EQUAL, measured)


def _judge_setting(
    facts: Mapping[str, Any], tensors: Mapping[str, Tensor], case: FunctionCase, reference: Reference
) -> Verdict | None:
    return (
        judge_modes(facts)
        or judge_outputs(tensors["outputs"], reference.outputs)
        or _judge_graph(facts)
        or _judge_runs(facts, reference)
        or _judge_input(facts)
        or _judge_parameters(facts, tensors["gradient"])
        or _judge_gradient(tensors["gradient"], case, reference)
        or _judge_input_gradient(tensors, reference)
        or _judge_plain_blocks(facts, case, reference)
        or _judge_random_state(facts)
    )


def _judge_graph(facts: Mapping[str, Any]) -> Verdict | None:
    if facts["needs_gradient"]:
        return None
    expected = "an output that needs a gradient, since the parameters do"
    look_at = "autograd sees the tensors that apply is given, and no others: which of them need a gradient?"
    return Verdict("input_without_gradient", expected, "an output with requires_grad=False", look_at)


def _judge_runs(facts: Mapping[str, Any], reference: Reference) -> Verdict | None:
    forwards, recomputed = len(facts["forwards"]), len(facts["recomputed"])
    expected = f"each of {reference.calls} blocks run once in forward and once in backward"
    measured = f"{forwards} runs in forward, {recomputed} in backward"
    if not recomputed:
        code, look_at = _explain_single_run(facts)
        return Verdict(code, expected, measured, look_at)
    if forwards > reference.calls:
        return Verdict("run_twice_in_forward", expected, measured, "what forward calls: one run is enough there")
    if recomputed > reference.calls:
        look_at = "what backward calls: one run serves all gradients, if they are asked for together"
        return Verdict("recomputed_too_often", expected, measured, look_at)
    return None


def _explain_single_run(facts: Mapping[str, Any]) -> tuple[str, str]:
    if not any(facts["is_graph_made"]):
        return "not_recomputed", "backward needs what the block computed: it has to run again from its saved input"
    if facts["has_own_function"]:
        return "first_graph_kept", "one forward and no second: the graph of the first run still holds all activations"
    return "plain_block_run", "a block that is called plainly keeps its activations: where is CheckpointFunction used?"


def _judge_input(facts: Mapping[str, Any]) -> Verdict | None:
    if facts["is_input_kept"]:
        return None
    look_at = "an operation in place on the input: the second run, and other blocks, need it as it was"
    return Verdict("input_changed_in_place", "the input as it was", "other numbers in it", look_at)


def _judge_parameters(facts: Mapping[str, Any], gradient: Tensor) -> Verdict | None:
    verdict = judge_parameters(facts["missing"], gradient)
    if verdict and not facts["parameters_seen"]:
        look_at = "the arguments of apply: autograd does not know a parameter that it is not given"
        return replace(verdict, code="parameters_not_handed_over", look_at=look_at)
    return verdict


def _judge_gradient(seen: Tensor, case: FunctionCase, reference: Reference) -> Verdict | None:
    comparison = compare(seen, reference.gradient)
    if comparison.is_equal:
        return None
    expected, measured = EQUAL, f"gradients that differ from them by {comparison.relative_error:.0%}"
    if not bool(torch.isfinite(seen).all()):
        return Verdict("gradient_not_finite", expected, "NaN or infinity", "a division by zero, or an overflow")
    if case.dropout:
        look_at = "dropout draws another mask in the second run: which random state does it start from?"
        return Verdict("random_state_not_replayed", expected, measured, look_at)
    if compare(seen, _gradient_of_ones(case)).is_equal:
        look_at = "output_gradient: the gradient that arrives at the output has to go into the backward of the block"
        return Verdict("output_gradient_ignored", expected, f"{measured}: those of a plain sum", look_at)
    if comparison.residual <= RELATIVE_TOLERANCE:
        measured = f"exactly {comparison.factor:.4g} times those gradients"
        if comparison.is_multiple(2):
            look_at = "autograd adds what backward returns: were the gradients added to .grad before?"
            return Verdict("gradient_counted_twice", expected, measured, look_at)
        look_at = f"which product or division leaves a factor of {comparison.factor:.4g}"
        return Verdict("gradient_scaled", expected, measured, look_at)
    if case.is_token_model:
        look_at = "a block that is called several times: do its gradients add up, and does none overwrite another?"
        return Verdict("calls_not_added_up", expected, measured, look_at)
    return Verdict(UNRECOGNISED, expected, measured, "what torch.autograd.grad is asked for, and in which order")


def _judge_input_gradient(tensors: Mapping[str, Tensor], reference: Reference) -> Verdict | None:
    if reference.input_gradient is None:
        return None
    expected = "the gradient of the input, as the plain blocks give it"
    if "input_gradient" not in tensors or not bool(tensors["input_gradient"].any()):
        look_at = "what backward returns in the place of the input: blocks before this one wait for it"
        return Verdict("input_gradient_missing", expected, "no gradient of the input", look_at)
    comparison = compare(tensors["input_gradient"].flatten(), reference.input_gradient.flatten())
    if comparison.is_equal:
        return None
    measured = f"a gradient that differs from it by {comparison.relative_error:.0%}"
    return Verdict("input_gradient_wrong", expected, measured, "what backward returns in the place of the input")


def _judge_plain_blocks(facts: Mapping[str, Any], case: FunctionCase, reference: Reference) -> Verdict | None:
    """Find out whether some blocks are called plainly, with right gradients and all their activations kept."""
    forwards, recomputed = len(facts["forwards"]), len(facts["recomputed"])
    if recomputed == reference.calls:
        return None
    expected = f"each of {reference.calls} blocks run once in forward and once in backward"
    measured = f"{forwards} runs in forward, {recomputed} in backward"
    if 0 in facts["recomputed"]:
        return Verdict("some_blocks_run_plainly", expected, measured, "the condition under which a block runs again")
    if case.is_token_model:
        look_at = "the first block, which is given tokens: it runs plainly, and keeps what it computes"
        return Verdict("tokens_run_plainly", expected, measured, look_at)
    look_at = "the first block, whose input needs no gradient: it runs plainly, and keeps what it computes"
    return Verdict("first_block_run_plainly", expected, measured, look_at)


def _judge_random_state(facts: Mapping[str, Any]) -> Verdict | None:
    if facts["is_random_state_kept"]:
        return None
    expected = "the random state after backward as it was before backward"
    look_at = "the random state is set back for the second run: who puts it forward again, so that no mask repeats?"
    return Verdict("random_state_left_behind", expected, "another random state", look_at)


@lru_cache(maxsize=8)
def make_reference(case: FunctionCase) -> Reference:
    """Run the plain blocks forward and backward."""
    outputs, gradient, input_gradient, calls = _run_plain(case, is_weighted=True)
    return Reference(outputs, gradient, input_gradient, calls)


@lru_cache(maxsize=8)
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
