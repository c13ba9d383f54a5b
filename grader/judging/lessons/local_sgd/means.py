"""Says what stands on the ranks in place of a mean, and in which tensors."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from grader.judging.equivalence import compare
from grader.judging.lessons.local_sgd.evidence import are_near, is_near, mean_of
from grader.lessons.local_sgd.averaging import AveragingCase
from grader.verdict import Verdict

Part = list[Tensor]  # one vector for each rank


def explain_mean(before: Part, after: Part) -> tuple[str, str, str]:
    """Explain what stands in place of a mean: a manner, what was measured, where to look."""
    size, mean = len(before), mean_of(before)
    if not all(bool(torch.isfinite(one).all()) for one in after):
        return "not_finite", "NaN or infinity", "a division by zero, or memory that was never written"
    if are_near(after, before):
        return "own", "each rank's own values", "what your function leaves in the tensors of a rank"
    for source, other in enumerate(before):
        if are_near(after, [other] * size):
            look_at = "a broadcast copies one rank's values: the mean over all ranks is asked for"
            return "one_rank", f"the values of rank {source} alone", look_at
    if are_near(after, [one / size for one in before]):
        return (
            "divided_alone",
            f"each rank's own values, divided by {size}",
            "which call adds those of the other ranks?",
        )
    reached = [rank for rank, one in enumerate(after) if is_near(one, mean)]
    if reached:
        measured = f"the mean on rank {', '.join(map(str, reached))} only"
        return "some_ranks", measured, "on every rank: is the sum there, and is it divided by the number of ranks?"
    return _explain_factor(after, mean)


def _explain_factor(after: Part, mean: Tensor) -> tuple[str, str, str]:
    size = len(after)
    factor = compare(after[0], mean).factor
    if not are_near(after, [factor * mean] * size):
        if all(_is_rounded(one, mean) for one in after):
            look_at = "a number format with fewer digits: in which one are the tensors sent?"
            return "rounded", "the mean, to two or three digits", look_at
        return "other", "other values", "what is added, and what it is divided by"
    measured = f"exactly {factor:.4g} times the mean"
    if abs(factor - size) < 1e-3:
        return (
            "summed",
            measured,
            "an all-reduce adds: is the sum divided, and is the quotient written into the tensor itself?",
        )
    if abs(factor * size - 1) < 1e-3:
        return "divided_twice", measured, f"two divisions by {size}: one of them is enough"
    divisor = size / factor
    if 0.5 < divisor < 100 and abs(divisor - round(divisor)) < 1e-3:
        look_at = f"a division by {divisor:.0f}: how many ranks are there, and which call tells it?"
        return "wrong_number_of_ranks", measured, look_at
    return "scaled", measured, "which product or division is one too many"


def _is_rounded(seen: Tensor, mean: Tensor) -> bool:
    """Return whether each number is near its mean, and most are farther from it than float32 rounds."""
    missed = (seen - mean).abs() / mean.abs()
    return bool((missed < 2**-6).all()) and float((missed > 2**-20).float().mean()) > 0.5


def explain_parameters(case: AveragingCase, before: Part, after: Part, expected: str) -> Verdict:
    """Explain trained parameters of which some are right and others not."""
    named = [(name, one) for name, one in case.make_model(0).named_parameters() if one.requires_grad]
    wrong, manners = _wrong_parts(named, before, after)
    names, other = ", ".join(wrong), "what is added, and what it is divided by"
    if wrong == ["2.weight"] and case.is_tied:
        measured, look_at = "another value of the tied weight", "the tied weight: under how many names does it come?"
        return Verdict("tied_weight_twice", expected, measured, look_at)
    if manners != {"own"}:
        return Verdict("other_parameters", expected, f"other values of {names}", other)
    code, look_at = "some_parameters_own", f"which parameters are left out: {names}"
    if wrong == ["spare"]:
        code = "left_out_without_gradient"
        look_at = "spare has no gradient yet, and is trained all the same: what tells that a parameter is trained?"
    elif wrong == ["gain"]:
        code, look_at = "single_numbers_left_out", "gain is a single number, with no dimension: it is trained too"
    elif all(name.endswith("bias") or name.startswith("3.") or name in ("gain", "spare") for name in wrong):
        code, look_at = "vectors_left_out", "biases and scales are trained too: which parameters are left out?"
    return Verdict(code, expected, f"each rank's own {names}", look_at)


def explain_buffers(case: AveragingCase, before: Part, after: Part, expected: str) -> Verdict:
    """Explain floating-point buffers of which some are right and others not."""
    named = [(name, one) for name, one in case.make_model(0).named_buffers() if one.is_floating_point()]
    wrong, manners = _wrong_parts(named, before, after)
    names = ", ".join(wrong)
    if manners != {"own"}:
        return Verdict("other_statistics", expected, f"other values of {names}", "what writes into the buffers?")
    code, look_at = "some_buffers_own", f"which buffers are left out: {names}"
    if wrong == ["history"]:
        code, look_at = "left_out_of_state_dict", "history is not persistent, so state_dict() has no such name"
    elif wrong == ["offset"]:
        code, look_at = "single_buffers_left_out", "offset is a single number, with no dimension, and drifts too"
    elif set(wrong) == {"history", "offset"}:
        code = "other_buffers_left_out"
        look_at = "any module may have floating-point buffers, of any name, and not only a normalisation layer"
    return Verdict(code, expected, f"each rank's own {names}", look_at)


def _wrong_parts(named: Iterable[tuple[str, Tensor]], before: Part, after: Part) -> tuple[list[str], set[str]]:
    """Return the names of the tensors that are no means, and the manners in which they are none."""
    start, wrong, manners = 0, [], set()
    for name, tensor in named:
        part = slice(start, start + tensor.numel())
        start = part.stop
        one, two = [each[part] for each in before], [each[part] for each in after]
        if not are_near(two, [mean_of(one)] * len(one)):
            wrong.append(name)
            manners.add(explain_mean(one, two)[0])
    return wrong, manners
