"""Verdicts on training loops: where they update, and with which gradient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.misconceptions import Misconception, Table
from grader.judging.updates import Reference, judge_gradients, judge_updates, praise
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.gradient_accumulation.loops import LEARNING_RATE, UpdatesCase, stream_cases, updates_cases
from grader.observation import Observation
from grader.verdict import Verdict


def judge_accumulated_gradients(observation: Observation, seed: int) -> Verdict:
    """Judge the updates of every setting; report the first thing that is wrong."""
    return _judge_loops(observation, updates_cases(seed))


def judge_stream_updates(observation: Observation, seed: int) -> Verdict:
    """Judge the updates of every setting, and how many micro-batches were held at once."""
    cases = stream_cases(seed)
    verdict = _judge_loops(observation, cases)
    if not verdict.is_passed:
        return verdict
    for case, facts, alive in zip(cases, observation.facts["settings"], observation.facts["held"], strict=True):
        held = STREAM.judge(Stream(case, _most_drawn_ahead(facts["events"]), alive))
        if held:
            return held
    return verdict


@dataclass(frozen=True)
class Stream:
    """How a loop reads a stream.

    Attributes:
        case: The stream.
        held: How many micro-batches at most are drawn and have not passed through the model.
        alive: How many at most are in memory: a group, and the next one while it is drawn.
    """

    case: UpdatesCase
    held: int
    alive: int


HELD = "at most one group of {case.k} micro-batches held"

STREAM = Table[Stream](
    Misconception(
        "whole_epoch_held",
        "You read the whole stream into memory before you use it, as list() does. Read one group at a time.",
        shown_by=lambda stream: stream.held > stream.case.k and stream.held == stream.case.micro_batches,
        expected=HELD,
        measured="{held} micro-batches held at a time",
    ),
    Misconception(
        "several_groups_held",
        "You read more than one group ahead. Look at how many micro-batches your loop draws before it uses the first.",
        shown_by=lambda stream: stream.held > stream.case.k,
        expected=HELD,
        measured="{held} micro-batches held at a time",
    ),
    Misconception(
        "used_micro_batches_kept",
        "You keep micro-batches after their update. Look for a list that grows with the stream.",
        shown_by=lambda stream: stream.alive > 2 * stream.case.k,
        expected=HELD,
        measured="{alive} micro-batches in memory at a time",
    ),
)


def _most_drawn_ahead(events: list[str]) -> int:
    drawn = longest = 0
    for event in events:
        drawn += (event == "draw") - (event == "forward")
        longest = max(longest, drawn)
    return longest


def _judge_loops(observation: Observation, cases: tuple[UpdatesCase, ...]) -> Verdict:
    references = [_make_reference(case) for case in cases]
    for index, reference in enumerate(references):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        verdict = judge_updates(facts, tensors, reference)
        if verdict:
            is_gradient_right = judge_gradients(facts, tensors, reference) is None
            return verdict if is_gradient_right else _name_misconception(verdict, cases[index], facts, tensors)
    return praise(references)


def _name_misconception(
    verdict: Verdict, case: UpdatesCase, facts: Mapping[str, Any], tensors: dict[str, Tensor]
) -> Verdict:
    """Name the misconception if a loop is right with another loss, or without what an earlier run left."""
    fresh = tensors.get("gradient.0", torch.zeros(())) - (case.earlier_gradient or 0.0)
    swapped = replace(case, loss_function=lambda outputs, targets: case.loss_function(targets, outputs))
    known = (
        (
            "other_loss_function",
            "You call a loss of your own, F.mse_loss. Call the `loss_function` that your function receives.",
            (facts, tensors, _make_reference(replace(case, loss_function=F.mse_loss))),
        ),
        (
            "loss_arguments_swapped",
            "You swap the arguments of the loss. It takes the outputs first, and then the targets.",
            (facts, tensors, _make_reference(swapped)),
        ),
        (
            "earlier_gradient_kept",
            "You add to the gradient that an earlier run left. Call zero_grad() before the first backward.",
            (facts, tensors | {"gradient.0": fresh}, _make_reference(case)),
        ),
    )
    for code, look_at, (seen, held, reference) in known:
        if not judge_gradients(seen, held, reference):
            return replace(verdict, code=code, look_at=look_at)
    return verdict


def _make_reference(case: UpdatesCase) -> Reference:
    model, batches = case.make_model(), case.make_micro_batches()

    def loss(number: int) -> Tensor:
        inputs, targets = batches[number]
        return case.loss_function(model(inputs), targets)

    return Reference(case.micro_batches, case.k, case.rows, LEARNING_RATE, partial(gradient_at, model, loss))
