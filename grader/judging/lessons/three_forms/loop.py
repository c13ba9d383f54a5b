"""Verdicts on loops over batches: the raw one, and the published one that was repaired."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.forms import count
from grader.judging.lessons.three_forms.loop_events import judge_events, rows_of_forwards
from grader.judging.lessons.three_forms.loop_gradients import Run, explain_gradient, make_run
from grader.judging.lessons.three_forms.loop_weights import explain_movement, judge_weights
from grader.judging.updates import judge_updates
from grader.judging.vectors import tensors_of
from grader.lessons.three_forms.loop import raw_run_cases, repaired_run_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Facts = Mapping[str, Any]
Tensors = Mapping[str, Tensor]

GRADIENT_EXPECTED = "at every update, the gradient of the mean loss of its rows"

# What a learner looks at before the word micro-batch is known.
LOOK_AT = {
    "no_update": "who calls optimizer.step(), and how often",
    "one_update_only": "how many updates one epoch has: every batch makes one",
    "graphs_kept": "where backward() is called: after each forward, or after the loop?",
    "gradient_not_cleared": "what backward() does to a gradient that is already there",
    "gradient_scaled": "which product or division changes the loss or the gradient",
    "divided_by_another_number": "which division changes the loss or the gradient",
    "gradient_clipped": "a clipping to norm 1 that is not asked for",
    "other_gradient": "the loss that backward() starts at: from which rows, columns and targets it is computed",
    "cleared_before_update": "what happens to the gradient between backward() and optimizer.step()",
}


def judge_raw_updates(observation: Observation, seed: int) -> Verdict:
    """Judge the updates and the returned losses of every setting; the first miss is told."""
    runs = [make_run(case) for case in raw_run_cases(seed)]
    for index, run in enumerate(runs):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = judge_run(facts, tensors, run) or judge_losses(facts["losses"], tensors, run)
        if verdict:
            return verdict
    updates = sum(run.updates for run in runs)
    measured = f"{updates} updates in {len(runs)} runs, each with the gradient of its rows, and their {updates} losses"
    return Verdict(PASSED, GRADIENT_EXPECTED, measured)


def judge_repaired_loop(observation: Observation, seed: int) -> Verdict:
    """Judge the updates of every setting; the loop that is still as it was published is told first."""
    runs = [make_run(case) for case in repaired_run_cases(seed)]
    for index, run in enumerate(runs):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = _judge_published(facts, tensors, run) or judge_run(facts, tensors, run)
        if verdict:
            return verdict
    updates = sum(run.updates for run in runs)
    measured = f"{updates} updates in {len(runs)} runs, in train mode, each with the gradient of its rows"
    return Verdict(PASSED, GRADIENT_EXPECTED, measured)


def _judge_published(facts: Facts, tensors: Tensors, run: Run) -> Verdict | None:
    if any(facts["is_training"]) or "gradient.0" not in tensors:
        return None
    published = run.without(tensors["weights.0"], 0, "attention_mask", "token_type_ids")
    if not compare(tensors["gradient.0"], published).is_equal:
        return None
    look_at = "what the model knows of a row in each forward, and which mode it is in"
    return Verdict("published_loop", GRADIENT_EXPECTED, "at every update, what the published loop does", look_at)


def judge_run(facts: Facts, tensors: Tensors, run: Run) -> Verdict | None:
    """Find what is wrong with one run: its forwards, its order, its gradients, where it leads."""
    return (
        judge_events(facts, run.case)
        or judge_weights(facts["events"], tensors, run.case)
        or _judge_values(facts, tensors, run)
    )


def _judge_values(facts: Facts, tensors: Tensors, run: Run) -> Verdict | None:
    verdict = judge_updates(facts, tensors, run.reference)
    if verdict is None:
        return None
    explained = None
    if verdict.code in {"other_gradient", "gradient_scaled", "divided_by_another_number"}:
        wrong = next(update for update in range(run.updates) if not _is_right(tensors, run, update))
        explained = explain_gradient(run, wrong, tensors[f"weights.{wrong}"], tensors[f"gradient.{wrong}"])
    if verdict.code == "another_optimizer":
        found = (explain_movement(tensors, update, run.case.learning_rate) for update in range(run.updates))
        explained = next((each for each in found if each), None)
    if explained:
        code, measured, look_at = explained
        verdict = replace(verdict, code=code, measured=measured, look_at=look_at)
    return _in_words_of_batches(verdict)


def _is_right(tensors: Tensors, run: Run, update: int) -> bool:
    return compare(tensors[f"gradient.{update}"], run.gradient(tensors[f"weights.{update}"], update)).is_equal


def _in_words_of_batches(verdict: Verdict) -> Verdict:
    """Tell a verdict on micro-batches to someone who has not met the word: one batch makes one update here."""
    return replace(
        verdict,
        expected=verdict.expected.replace("micro-batch", "batch").removesuffix(", for k = 1"),
        measured=verdict.measured.replace("micro-batch", "batch"),
        look_at=LOOK_AT.get(verdict.code, verdict.look_at.replace("micro-batch", "batch")),
    )


def judge_losses(losses: Sequence[float], tensors: Tensors, run: Run) -> Verdict | None:
    """Compare the returned losses with the mean loss of each update's rows, right before the update."""
    right = _losses_of(run, tensors)
    expected = f"one loss for each of {count(len(right), 'update')}: {_say(right)}"
    measured = f"a list of {count(len(losses), 'number')}: {_say(losses)}" if losses else "an empty list"
    if len(losses) != len(right):
        code = {0: "no_loss_returned", 1: "one_loss_returned"}.get(len(losses), "other_number_of_losses")
        return Verdict(code, expected, measured, "where the loss of each update is kept, and what is returned")
    if _are_close(losses, right):
        return None
    for code, yields, look_at in LOSS_MISTAKES:
        if _are_close(losses, yields(right, rows_of_forwards(run.case))):
            return Verdict(code, expected, measured, look_at)
    if all(abs(loss - wanted) <= 0.5 for loss, wanted in zip(losses, right, strict=True)) and _are_rounded(losses):
        return Verdict("losses_rounded", expected, measured, "a rounding: the number itself is asked for")
    return Verdict("other_losses", expected, measured, "which loss is kept: that of the forward, before the update")


LOSS_MISTAKES: tuple[tuple[str, Callable[[list[float], list[int]], list[float]], str], ...] = (
    (
        "losses_times_rows",
        lambda losses, rows: [loss * number for loss, number in zip(losses, rows, strict=True)],
        "the model's loss is a mean over the rows: is it multiplied?",
    ),
    (
        "losses_divided_by_rows",
        lambda losses, rows: [loss / number for loss, number in zip(losses, rows, strict=True)],
        "the model's loss is a mean over the rows already: who divides again?",
    ),
    (
        "losses_divided_by_batches",
        lambda losses, rows: [loss / len(losses) for loss in losses],
        "the loss of each update is asked for: what is it divided by?",
    ),
    (
        "running_sum_of_losses",
        lambda losses, rows: list(itertools.accumulate(losses)),
        "the loss of each update alone: what is added to it?",
    ),
    (
        "running_mean_of_losses",
        lambda losses, rows: [total / (i + 1) for i, total in enumerate(itertools.accumulate(losses))],
        "the loss of each update alone: what is it averaged with?",
    ),
)


def _losses_of(run: Run, tensors: Tensors) -> list[float]:
    losses = []
    for update in range(run.updates):
        with torch.no_grad():
            nn.utils.vector_to_parameters(tensors[f"weights.{update}"], run.model.parameters())
            losses.append(float(run.loss(update)))
    return losses


def _are_close(losses: Sequence[float], right: Sequence[float]) -> bool:
    pairs = zip(losses, right, strict=True)
    return all(abs(loss - wanted) <= RELATIVE_TOLERANCE * max(abs(wanted), 1e-2) for loss, wanted in pairs)


def _are_rounded(losses: Sequence[float]) -> bool:
    return all(abs(loss - round(loss, 3)) <= 1e-9 for loss in losses)


def _say(losses: Sequence[float]) -> str:
    shown = ", ".join(f"{loss:.4f}" for loss in losses[:4])
    return f"{shown}, ..." if len(losses) > 4 else shown
