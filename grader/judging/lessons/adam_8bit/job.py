"""Judges a training job: the loss that AdamW reaches, within a byte budget that AdamW exceeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.budget import claimed_peak_bytes
from grader.judging.kept import keep_cases
from grader.judging.lessons.adam_8bit.job_calls import judge_calls, judge_left, judge_updates
from grader.lessons.adam_8bit.job import JobCase, job_loss_cases, job_peak_case
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

REFERENCE_RATE = 4e-3
LOSS_FACTOR = 1.4  # 8-bit Adam and Adafactor end within 1.25, SGD with and without momentum beyond 1.6


def judge_lean_job(observation: Observation, seed: int) -> Verdict:
    """Judge the losses of two small models, then the peak of a large one."""
    worst = 0.0
    for number, case in enumerate(job_loss_cases(seed)):
        facts, weights = observation.facts["settings"][number], observation.tensors[f"{number}.weights"]
        verdict = judge_calls(case, facts) or _judge_loss(case, facts, weights)
        verdict = verdict or judge_left(facts) or judge_updates(case, facts)
        if verdict:
            return verdict
        worst = max(worst, case.loss_of(weights) / reference_loss(case))
    case, (claim,) = job_peak_case(seed), observation.facts["claims"]
    large = observation.facts["large"]
    verdict = judge_calls(case, large, calls=2) or judge_left(large)
    verdict = verdict or _judge_peak(case, claim, large) or _judge_embedding(large)
    if verdict:
        return verdict
    held = format_bytes(claim["above_entry_bytes"])
    measured = f"at most {worst:.2f} times AdamW's loss, with {held} in addition to the parameters"
    return Verdict(PASSED, "loss and bytes within their bounds", measured)


def _judge_loss(case: JobCase, facts: Mapping[str, Any], weights: Tensor) -> Verdict | None:
    wanted, loss = reference_loss(case), case.loss_of(weights)
    expected = f"a loss of at most {LOSS_FACTOR} times AdamW's {wanted:.3f}, after {case.updates} updates"
    names = ", ".join(str(name) for name in facts["optimizers"]) or "no optimizer"
    measured = f"{loss:.3f}, which is {loss / wanted:.2f} times AdamW's, by {names}"
    start = nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
    sizes = [parameter.numel() for parameter in case.make_model().parameters()]
    still = [bool(part.all()) for part in torch.split(weights == start, sizes)]
    if all(still):
        look_at = "You never update the model. Look at where step() is called, and whether a gradient is there by then."
        return Verdict("no_update", expected, "weights that never move", look_at)
    if any(still):
        measured = f"{sum(still)} of {len(still)} parameters never move; {measured}"
        has_one_dimension = [parameter.dim() < 2 for parameter in case.make_model().parameters()]
        return Verdict(*_left_out(still, has_one_dimension, expected, measured))
    if loss <= LOSS_FACTOR * wanted:
        return None
    is_worse = loss > case.loss_of(start)
    return Verdict(*_too_high(facts, len(still), is_worse, loss < float("inf"), expected, measured))


def _too_high(
    facts: Mapping[str, Any], parameters: int, is_worse: bool, is_finite: bool, expected: str, measured: str
) -> tuple[str, str, str, str]:
    """Name why a loss is too high, from what else was recorded."""
    if not is_finite:
        return (
            "diverged",
            expected,
            "a loss that is not finite",
            "You train with steps that are too long. Lower the learning rate.",
        )
    if is_worse:
        return (
            "loss_rises",
            expected,
            measured,
            "You make the loss rise. Look at the sign and the size of your updates.",
        )
    if facts["optimizers_made"] > parameters:
        look_at = "You make new optimizers on the way, and they have forgotten all steps before. Make them once."
        return "optimizers_made_again", expected, f"{facts['optimizers_made']} optimizers; {measured}", look_at
    if set(facts["optimizers"]) == {"SGD"}:
        if facts["state_bytes"]:
            look_at = (
                "You train with momentum, whose steps are as long as the gradients, and those of rare words are short."
            )
            return "steps_of_momentum", expected, measured, look_at
        look_at = "You train with SGD, whose steps for rare words are short. Take an optimizer that divides gradients."
        return "steps_of_sgd", expected, measured, look_at
    look_at = "You end at a higher loss. Look at the learning rate, 4e-3 for AdamW, and at gradients left in .grad."
    return "loss_too_high", expected, measured, look_at


def _left_out(
    still: Sequence[bool], has_one_dimension: Sequence[bool], expected: str, measured: str
) -> tuple[str, str, str, str]:
    """Name which parameters never move; the first one is the embedding."""
    if still == has_one_dimension:
        return "biases_left_out", expected, measured, "You leave biases and normalisations out. Train them, too."
    if sum(still) > len(still) / 2:
        look_at = "You update few parameters. A hook reads a name when it runs: look at whose optimizer each one steps."
        return "most_parameters_left_out", expected, measured, look_at
    if still[0] and sum(still) == 1:
        return "embedding_left_out", expected, measured, "You leave the embedding out. Train it, too."
    return (
        "parameters_left_out",
        expected,
        measured,
        "You leave some parameters out. Look at which of them get an update.",
    )


def _judge_peak(case: JobCase, claim: Mapping[str, Any], facts: Mapping[str, Any]) -> Verdict | None:
    claimed_peak_bytes(claim, distinct_storage_bytes(case.make_model().parameters()))
    held, budget = int(claim["above_entry_bytes"]), case.budget_bytes
    if held <= budget:
        return None
    expected = f"at most {format_bytes(budget)} in addition to the parameters"
    parameters = list(case.make_model().parameters())
    model_bytes = distinct_storage_bytes(parameters)
    measured = f"{format_bytes(held)}, {format_bytes(int(facts['state_bytes']))} of it optimizer state"
    waiting, state = facts["gradients_alive"] > len(parameters) // 2, facts["state_bytes"] > 0.7 * model_bytes
    if waiting and state:
        look_at = "You hold too much state, and gradients that wait for the step. Shrink the one, and free the others."
        return Verdict("state_and_gradients_too_large", expected, measured, look_at)
    if waiting:
        look_at = (
            f"You let {facts['gradients_alive']} of {len(parameters)} gradients wait for one step. Free each at once."
        )
        return Verdict("gradients_wait", expected, measured, look_at)
    if state:
        return Verdict(
            "state_too_large",
            expected,
            measured,
            "You hold too much optimizer state. Count its bytes for each parameter.",
        )
    return Verdict(
        "other_tensors", expected, measured, "You hold other tensors. Look for graphs, copies of weights and lists."
    )


def _judge_embedding(facts: Mapping[str, Any]) -> Verdict | None:
    if not facts["is_embedding_in_codes"]:
        return None
    expected, measured = "the state of the embedding in 32 bits, or factored", "codes of one byte"
    look_at = (
        "You keep codes for the embedding. On a GPU a rare word's second moment becomes 0, and its steps explode. "
    )
    return Verdict("embedding_in_codes", expected, measured, look_at + "Give the embedding another optimizer.")


@keep_cases
def reference_loss(case: JobCase) -> float:
    """Return the loss that AdamW reaches."""
    model = case.make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=REFERENCE_RATE, foreach=False)
    with torch.enable_grad():
        for words, labels in case.make_batches():
            optimizer.zero_grad()
            torch.autograd.backward(model(words, labels))
            optimizer.step()
    return case.loss_of(nn.utils.parameters_to_vector(model.parameters()).detach())
