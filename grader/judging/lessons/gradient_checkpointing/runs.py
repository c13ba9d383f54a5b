"""What the judges of lesson 03 share: outputs, modes and parameters of a run of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.verdict import Verdict

FIRST_BLOCK = "0"


def judge_outputs(seen: Tensor, reference: Tensor) -> Verdict | None:
    """Find out whether the output is that of the plain blocks."""
    expected = f"the output of the plain blocks, of shape {tuple(reference.shape)}"
    if seen.shape != reference.shape:
        return Verdict(
            "output_of_other_shape",
            expected,
            f"shape {tuple(seen.shape)}",
            "You return an output of another shape. Return what the last block returns.",
        )
    comparison = compare(seen.flatten(), reference.flatten())
    if comparison.is_equal:
        return None
    if comparison.residual <= RELATIVE_TOLERANCE:
        measured = f"exactly {comparison.factor:.4g} times that output"
        look_at = f"You scale the output by {comparison.factor:.4g}. Look for a product or a division."
        return Verdict("output_scaled", expected, measured, look_at)
    measured = f"an output that differs from it by {comparison.relative_error:.0%}"
    look_at = "You run other blocks, or in another order. Look at how often each block runs, and on which input."
    return Verdict("other_output", expected, measured, look_at)


def judge_modes(facts: Mapping[str, Any]) -> Verdict | None:
    """Find out whether every run of a block was in train mode."""
    if all(facts["is_training"]):
        return None
    measured = f"{facts['is_training'].count(False)} of {len(facts['is_training'])} runs in eval mode"
    look_at = "You switch blocks to eval mode, which turns dropout off. Look for a call of eval()."
    return Verdict("run_in_eval_mode", "every run of a block in train mode, as it was given", measured, look_at)


def judge_parameters(missing: Sequence[str], gradient: Tensor) -> Verdict | None:
    """Find out whether the trainable parameters have gradients at all."""
    expected = "a gradient in every trainable parameter"
    if missing and not bool(gradient.any()):
        look_at = "You leave all parameters without a gradient. Look at what backward asks torch.autograd.grad for."
        return Verdict("parameter_gradients_missing", expected, "None in every parameter", look_at)
    if {name.partition(".")[0] for name in missing} == {FIRST_BLOCK}:
        look_at = (
            "You leave the first block without gradients: its input needs none, but its parameters do. Look for a "
            "reentrant checkpoint or a detach()."
        )
        return Verdict("first_block_untrained", expected, "None in the parameters of the first block", look_at)
    if missing:
        measured = f"None in {len(missing)} of them, for example {missing[0]}"
        look_at = "You leave some parameters without a gradient. Look for a detach(), and at what backward returns."
        return Verdict("some_gradients_missing", expected, measured, look_at)
    return None
