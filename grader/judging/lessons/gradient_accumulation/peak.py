"""Verdict on the predicted peak of gradient accumulation."""

from __future__ import annotations

from functools import cache

from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.gradient_accumulation.peak import PeakCase, peak_cases
from grader.meters.forecast import forecast_peak_memory
from grader.observation import Observation
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, Verdict

# Inputs and temporary buffers, which the exercise leaves out, are up to 2.5 % of these peaks.
TOLERANCE = 0.03
VISIBLE_SEED = 0  # of the cases that a learner has seen


def end_of_forward(case: PeakCase) -> float:
    """Return the bytes held when the last forward ends."""
    accumulated = case.parameter_bytes if case.k > 1 else 0
    return case.parameter_bytes + case.state_bytes + accumulated + case.activation_bytes / case.k


def update(case: PeakCase) -> float:
    """Return the bytes held during the update: gradients have the size of the parameters."""
    return 2 * case.parameter_bytes + case.state_bytes


def peak(case: PeakCase) -> float:
    """Return the larger of the two moments."""
    return max(end_of_forward(case), update(case))


def _everything(case: PeakCase) -> float:
    return update(case) + case.activation_bytes


def _with_gradients(case: PeakCase, accumulated_bytes: float, gradient_bytes: float) -> float:
    """Return the larger moment for other sizes of the gradients: while the forwards run, and during the update."""
    held = case.parameter_bytes + case.state_bytes
    return max(held + accumulated_bytes + case.activation_bytes / case.k, held + gradient_bytes)


def _gradients_for_each(case: PeakCase, earlier: int) -> float:
    return _with_gradients(case, (case.k - earlier) * case.parameter_bytes, case.k * case.parameter_bytes)


def _smaller_gradients(case: PeakCase) -> float:
    gradient_bytes = case.parameter_bytes / case.k
    return _with_gradients(case, gradient_bytes if case.k > 1 else 0, gradient_bytes)


MISTAKES: tuple[Mistake[PeakCase], ...] = (
    Mistake("mebibytes_for_bytes", lambda c: peak(c) / MIB, "the unit: bytes are asked for"),
    Mistake(
        "all_kinds_added",
        lambda c: update(c) + c.activation_bytes / c.k,
        "k = 1: which gradients are alive when the only forward ends?",
    ),
    Mistake(
        "accumulated_gradients_forgotten",
        lambda c: max(c.parameter_bytes + c.state_bytes + c.activation_bytes / c.k, update(c)),
        "k > 1: what the first micro-batch leaves behind while the second runs forward",
    ),
    Mistake(
        "gradients_forgotten",
        lambda c: c.parameter_bytes + c.state_bytes + c.activation_bytes / c.k,
        "gradients: in which of the two moments are they held?",
    ),
    Mistake("update_forgotten", end_of_forward, "a small batch: what is held during optimizer.step()?"),
    Mistake("forward_forgotten", update, "a large batch: what is held when the forward ends?"),
    Mistake(
        "everything_divided", lambda c: _everything(c) / c.k, "which of the four kinds get smaller with a smaller batch"
    ),
    Mistake("everything_divided", lambda c: peak(c) / c.k, "which of the four kinds get smaller with a smaller batch"),
    Mistake(
        "activations_not_divided",
        lambda c: max(end_of_forward(c) + c.activation_bytes * (1 - 1 / c.k), update(c)),
        "activations: how many rows are in one micro-batch?",
    ),
    Mistake("accumulation_ignored", _everything, "k: your answer does not depend on it"),
    Mistake(
        "accumulation_ignored",
        lambda c: max(_everything(c) - c.parameter_bytes, update(c)),
        "k: your answer does not depend on it",
    ),
    Mistake(
        "gradients_for_each_micro_batch",
        lambda c: _gradients_for_each(c, earlier=1),
        "backward() adds to .grad: how large is the sum of two gradients?",
    ),
    Mistake(
        "gradients_for_each_micro_batch",
        lambda c: _gradients_for_each(c, earlier=0) if c.k > 1 else peak(c),
        "backward() adds to .grad: how large is the sum of two gradients?",
    ),
    Mistake(
        "gradients_divided",
        _smaller_gradients,
        "gradients have the size of the parameters, for a micro-batch of any size",
    ),
    Mistake(
        "state_forgotten",
        lambda c: peak(c) - c.state_bytes,
        "the optimizer state: it is there from the second update on",
    ),
    Mistake(
        "state_forgotten",
        lambda c: c.parameter_bytes + max(c.parameter_bytes, c.activation_bytes / c.k),
        "the optimizer state: it is there from the second update on",
    ),
    Mistake(
        "state_counted_twice",
        lambda c: peak(c) + c.state_bytes,
        "state_bytes: it already holds both moments of AdamW",
    ),
    Mistake(
        "state_assumed",
        lambda c: peak(c) - c.state_bytes + 2 * c.parameter_bytes,
        "an optimizer without state: which argument tells you?",
    ),
    Mistake(
        "activations_multiplied",
        lambda c: max(end_of_forward(c) + c.activation_bytes * (c.k - 1 / c.k), update(c)),
        "activation_bytes is for the whole batch, not for one micro-batch",
    ),
    Mistake(
        "moments_added",
        lambda c: end_of_forward(c) + update(c),
        "the two moments follow each other: is their sum ever held?",
    ),
    Mistake(
        "smaller_moment",
        lambda c: min(end_of_forward(c), update(c)),
        "a peak is the largest of all moments",
    ),
)


def judge_predicted_peak(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with the measured chain, and name the misconception that explains a miss."""
    cases, predicted = peak_cases(seed), observation.facts["predicted_bytes"]
    truths = [_true_peak(case) for case in cases]
    misses = [abs(answer - truth) / truth for answer, truth in zip(predicted, truths, strict=True)]
    for case, answer, truth, miss in zip(cases, predicted, truths, misses, strict=True):
        if miss > TOLERANCE:
            expected = f"{format_bytes(truth)} within {TOLERANCE:.0%} (measured) for {_describe(case)}"
            measured = f"{format_bytes(answer)}, which is {answer / truth - 1:+.0%}"
            otherwise = "two moments: the end of a forward, and the update; what is held in each?"
            return failed(_recognise(cases, predicted), expected, measured, otherwise)
    worst = f"the largest difference from the measured peak is {max(misses):.1%}"
    return Verdict(PASSED, f"{len(cases)} peaks within {TOLERANCE:.0%}", f"{len(cases)} peaks; {worst}")


def _recognise(cases: tuple[PeakCase, ...], predicted: list[float]) -> Mistake[PeakCase] | None:
    """Name the misconception, from the exact ones to those that show in a pattern only."""
    mistake = recognise(MISTAKES, cases, predicted) or recognise(MISTAKES[:1], cases, predicted, relative=0.02)
    if mistake:
        return mistake
    look_at = "numbers that are right for other chains: which arguments does your answer use?"
    written_down = Mistake("visible_case_hard_coded", peak, look_at)
    if recognise((written_down,), peak_cases(VISIBLE_SEED), predicted, relative=TOLERANCE):
        return written_down
    by_k: dict[int, set[float]] = {}
    for case, answer in zip(cases, predicted, strict=True):
        by_k.setdefault(case.k, set()).add(answer)
    if all(len(answers) == 1 for answers in by_k.values()):
        look_at = "your answer is the same for a small and for a large batch: which argument differs?"
        return Mistake("activations_ignored", update, look_at)
    return None


@cache
def _true_peak(case: PeakCase) -> int:
    return forecast_peak_memory(case.prepare, operators="cpu").peak_bytes


def _describe(case: PeakCase) -> str:
    pieces = (
        f"parameters {format_bytes(case.parameter_bytes)}",
        f"state {format_bytes(case.state_bytes)}",
        f"activations {format_bytes(case.activation_bytes)}",
        f"k = {case.k}",
    )
    return ", ".join(pieces)
