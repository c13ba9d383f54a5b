"""Judges the predicted peak of gradient accumulation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.gradient_accumulation.peak import PeakCase, peak_cases
from grader.meters.forecast import forecast_peak_memory
from grader.observation import Observation
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, Verdict

# Inputs and temporary buffers, which the exercise leaves out, are up to 2.5 % of these peaks.
TOLERANCE = 0.03
VISIBLE_SEED = 0  # of the cases that a learner has seen


def peak_bytes(parameters: int, state: int, activations: int, k: int) -> float:
    """Return the larger of the two moments: the end of the last forward pass, and the update."""
    gradients = parameters
    accumulated = gradients if k > 1 else 0
    forward = parameters + state + accumulated + activations / k
    update = parameters + state + gradients
    return max(forward, update)


FORWARD = "parameters + state + accumulated + activations / k"
UPDATE = "parameters + state + gradients"
PEAK = "max(forward, update)"


def judge_predicted_peak(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with the forecast peak, and name the misconception that explains a miss."""
    predicted = observation.facts["predicted_bytes"]
    answer = TABLE.answer(seed, predicted)
    truths = [_true_peak(case) for case in peak_cases(seed)]
    misses = [abs(value - truth) / truth for value, truth in zip(predicted, truths, strict=True)]
    for case, value, truth, miss in zip(peak_cases(seed), predicted, truths, misses, strict=True):
        if miss > TOLERANCE:
            expected = f"{format_bytes(truth)} within {TOLERANCE:.0%} (measured) for {_describe(case)}"
            measured = f"{format_bytes(value)}, which is {value / truth - 1:+.1%}"
            otherwise = (
                "List the kinds that are held at the end of the forward pass and during the update, and add them."
            )
            return TABLE.explain(answer, expected=expected, measured=measured, otherwise=otherwise)
    worst = f"the largest difference from the measured peak is {max(misses):.1%}"
    return Verdict(PASSED, f"{len(truths)} peaks within {TOLERANCE:.0%}", f"{len(truths)} peaks; {worst}")


def _run(peak: Callable[..., float], case: PeakCase) -> float:
    return peak(case.parameter_bytes, case.state_bytes, case.activation_bytes, case.k)


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


def _is_in_mebibytes(answer: Answer) -> bool:
    """Return whether the values are right after a conversion, rounded or not."""
    truths = answer.table.truths(answer.seed)
    return within(relative=0.02)([value * MIB for value in answer.values], truths)


def _is_hard_coded(answer: Answer) -> bool:
    """Return whether the values are right, within the tolerance, for the cases that the notebook shows."""
    visible = [_run(peak_bytes, case) for case in peak_cases(VISIBLE_SEED)]
    return answer.seed != VISIBLE_SEED and within(relative=TOLERANCE)(list(answer.values), visible)


def _depends_on_k_alone(answer: Answer) -> bool:
    """Return whether the cases of one k, which is 1, get one value, whatever their batch."""
    by_k: dict[int, set[float]] = {}
    for case, value in zip(peak_cases(answer.seed), answer.values, strict=True):
        by_k.setdefault(case.k, set()).add(value)
    return all(len(values) == 1 for values in by_k.values())


TABLE = ReferenceTable(
    peak_bytes,
    Misconception(
        "mebibytes_for_bytes",
        "You return MiB, but bytes are asked for. Leave out the division by 2**20.",
        shown_by=_is_in_mebibytes,
    ),
    Misconception(
        "all_kinds_added",
        "You add all four kinds, but with k = 1 no gradient exists yet when the forward pass ends. "
        "Treat the end of the forward pass and the update as two moments.",
        {PEAK: "update + activations / k"},
    ),
    Misconception(
        "accumulated_gradients_forgotten",
        "You leave out the gradients at the end of the forward pass. With k > 1, those of the first micro-batch are "
        "held while the second runs forward.",
        {"gradients if k > 1 else 0": "0"},
    ),
    Misconception(
        "gradients_forgotten",
        "You leave out the gradients at both moments. They are held during the update, and with k > 1 during the "
        "forward passes after the first.",
        {"gradients = parameters": "gradients = 0"},
    ),
    Misconception(
        "update_forgotten",
        "You count the end of the forward pass only. With a small batch more is held during optimizer.step().",
        {PEAK: "forward"},
    ),
    Misconception(
        "forward_forgotten",
        "You count the update only. With a large batch more is held when the forward pass ends.",
        {PEAK: "update"},
    ),
    Misconception(
        "everything_divided",
        "You divide every kind by k. A smaller micro-batch makes only the activations smaller.",
        {PEAK: "(update + activations) / k"},
        variants=[{PEAK: f"{PEAK} / k"}],
    ),
    Misconception(
        "activations_not_divided",
        "You count the activations of the whole batch. One micro-batch has 1 / k of its rows.",
        {FORWARD: "parameters + state + accumulated + activations"},
    ),
    Misconception(
        "accumulation_ignored",
        "Your answer does not depend on k. Work out what k changes at each of the two moments.",
        {PEAK: "update + activations"},
        variants=[{FORWARD: "parameters + state + activations"}],
    ),
    Misconception(
        "gradients_for_each_micro_batch",
        "You count the gradients once for each micro-batch. backward() adds to .grad, and a sum is as large as one "
        "gradient.",
        {"gradients if k > 1 else 0": "(k - 1) * gradients", UPDATE: "parameters + state + k * gradients"},
        variants=[{"gradients if k > 1 else 0": "k * gradients if k > 1 else 0", UPDATE: f"{UPDATE} * k"}],
    ),
    Misconception(
        "gradients_doubled",
        "You count the gradients twice where they wait. backward() adds to the .grad that is there.",
        {"gradients if k > 1 else 0": "2 * gradients if k > 1 else 0"},
    ),
    Misconception(
        "gradients_halved",
        "You count half of the gradients where they wait. All of them exist after the first backward.",
        {"gradients if k > 1 else 0": "gradients / 2 if k > 1 else 0"},
    ),
    Misconception(
        "gradients_from_k_3_on",
        "You let gradients wait from k = 3 on. They already do for k = 2, during the second forward.",
        {"gradients if k > 1 else 0": "gradients if k > 2 else 0"},
    ),
    Misconception(
        "gradients_wait_for_k_1",
        "You let gradients wait where k is 1, and not above. With one micro-batch, none exists during the forward.",
        {"gradients if k > 1 else 0": "gradients if k == 1 else 0"},
    ),
    Misconception(
        "parameters_forgotten",
        "You leave out the parameters. They are held at both moments, next to gradients of their size.",
        {PEAK: f"{PEAK} - parameters"},
    ),
    Misconception(
        "all_but_one_micro_batch",
        "You count the activations of all micro-batches but one. One micro-batch has 1 / k of them.",
        {FORWARD: "parameters + state + accumulated + activations * (k - 1) / k"},
    ),
    Misconception(
        "gradients_divided",
        "You divide the gradients by k. They have the size of the parameters, for a micro-batch of any size.",
        {"gradients = parameters": "gradients = parameters / k"},
    ),
    Misconception(
        "state_forgotten",
        "You leave out the optimizer state. It is held from the second update on.",
        {PEAK: f"{PEAK} - state"},
        variants=[{PEAK: "parameters + max(parameters, activations / k)"}],
    ),
    Misconception(
        "state_counted_twice",
        "You count the optimizer state twice. `state_bytes` already holds both moments of AdamW.",
        {PEAK: f"{PEAK} + state"},
    ),
    Misconception(
        "state_assumed",
        "You assume the state of AdamW, but one of the optimizers has none. Use `state_bytes`.",
        {PEAK: f"{PEAK} - state + 2 * parameters"},
    ),
    Misconception(
        "activations_multiplied",
        "You multiply the activations by k. `activation_bytes` is for the whole batch, not for one micro-batch.",
        {FORWARD: "parameters + state + accumulated + activations * k"},
    ),
    Misconception(
        "moments_added",
        "You add the two moments, but they follow each other. The peak is the larger one.",
        {PEAK: "forward + update"},
    ),
    Misconception(
        "smaller_moment",
        "You return the smaller of the two moments. A peak is the largest of all moments.",
        {PEAK: "min(forward, update)"},
    ),
    Misconception(
        "visible_case_hard_coded",
        "You return numbers that are right for the chains in the notebook. Compute them from the arguments.",
        shown_by=_is_hard_coded,
    ),
    Misconception(
        "activations_ignored",
        "With k = 1, your answer is the same for a small and for a large batch. Look at where `activation_bytes` "
        "enters.",
        shown_by=_depends_on_k_alone,
    ),
    run=_run,
    cases=peak_cases,
    is_near=within(relative=1e-3),
)
