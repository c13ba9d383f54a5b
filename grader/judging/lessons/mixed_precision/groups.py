"""Verdict on fp16 updates from groups of micro-batches: unscaled, clipped, skipped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.lessons.mixed_precision.group_mistakes import Group, explain_gradient, explain_norm
from grader.judging.lessons.mixed_precision.near import FP16_TOLERANCE, judge_movement, judge_start
from grader.judging.lessons.mixed_precision.regions import judge_regions
from grader.judging.lessons.mixed_precision.scale_rules import fold, right_rule
from grader.judging.updates import most_forwards_waiting
from grader.judging.vectors import gradient_at, tensors_of
from grader.lessons.mixed_precision.groups import FP16_LEARNING_RATE, GroupCase, group_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


@dataclass(frozen=True)
class _Run:
    """What was seen of one setting."""

    setting: int
    case: GroupCase
    facts: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    @property
    def calls(self) -> list[list[str]]:
        """The events of each call."""
        calls: list[list[str]] = []
        for event in self.facts["events"]:
            if event == "call":
                calls.append([])
            else:
                calls[-1].append(event)
        return calls


def judge_clipped_updates(observation: Observation, seed: int) -> Verdict:
    """Judge every update of every setting; the first miss is told."""
    cases = group_cases(seed)
    runs = [
        _Run(index, case, observation.facts["settings"][index], tensors_of(observation, index))
        for index, case in enumerate(cases)
    ]
    for run in runs:
        verdict = _judge_run(run)
        if verdict:
            return verdict
    updates = sum(len(case.group_sizes) for case in cases)
    skipped = sum(len(case.overflowing) for case in cases)
    measured = f"{updates} updates in fp16, {skipped} of them skipped; the others unscaled, then clipped"
    return Verdict(PASSED, "unscaled, clipped and skipped as it should be", measured)


def _judge_run(run: _Run) -> Verdict | None:
    sizes = run.case.group_sizes
    verdict = judge_regions(run.facts, sum(sizes), run.case.rows, "float16")
    verdict = verdict or judge_start(run.tensors, run.case.make_model())
    if verdict:
        return verdict
    calls, updates = run.calls, 0
    if len(calls) != len(sizes):
        raise ValueError(f"{len(calls)} calls for {len(sizes)} groups")
    for number, events in enumerate(calls):
        verdict = _judge_forwards(run, number, events) or _judge_update(run, number, events, updates)
        if verdict:
            return verdict
        updates += events.count("update")
    return None


def _judge_forwards(run: _Run, number: int, events: Sequence[str]) -> Verdict | None:
    size = run.case.group_sizes[number]
    expected = f"{size} micro-batches in group {number}, each forward followed by its backward"
    if events.count("forward") != size:
        look_at = "how often the micro-batches of a group are walked through"
        return Verdict("micro_batches_not_seen_once", expected, f"{events.count('forward')} forwards", look_at)
    if "backward" not in events:
        return Verdict("no_backward", expected, "no backward", "who calls backward(), and on which loss")
    waiting = most_forwards_waiting(events)
    if waiting > 1:
        return Verdict("graphs_kept", expected, f"{waiting} forwards before a backward", "where backward() is called")
    return None


def _judge_update(run: _Run, number: int, events: Sequence[str], updates: int) -> Verdict | None:
    steps = events.count("update")
    if number in run.case.overflowing:
        return _judge_skip(run, number, steps, updates) or _judge_scale(run, number)
    name = f"group {number} (counted from 0)"
    expected = f"one update for {name}"
    if steps > 1 and any(pair == ("update", "update") for pair in pairwise(events)):
        look_at = "two calls that step: scaler.step(optimizer) calls optimizer.step() itself"
        return Verdict("stepped_twice", expected, f"{steps} updates, one right after the other", look_at)
    if steps > 1:
        look_at = "the step belongs behind the loop: all micro-batches of the group come before it"
        return Verdict("update_every_micro_batch", expected, f"{steps} updates", look_at)
    if not steps:
        return _explain_missing_update(run, number, expected)
    group = _group(run, number, updates)
    return (
        explain_gradient(group, run.case.max_norm, name)
        or explain_norm(group, run.case.max_norm, float(run.facts["norms"][number]), name)
        or judge_movement(run.tensors, updates, FP16_LEARNING_RATE, name)
        or _judge_scale(run, number)
    )


def _explain_missing_update(run: _Run, number: int, expected: str) -> Verdict:
    if "update" not in run.facts["events"]:
        return Verdict("never_stepped", expected, "no update in any group", "who calls scaler.step(optimizer)")
    if number and not math.isfinite(float(run.facts["norms"][number - 1])):
        look_at = "the gradients of a skipped group: who clears them before the next one?"
        return Verdict("infinity_kept", expected, "no update: inf or NaN is left from the group before", look_at)
    look_at = "the gradients of this group are finite: why is the step left out?"
    return Verdict("skipped_without_infinity", expected, "no update", look_at)


def _judge_skip(run: _Run, number: int, steps: int, updates: int) -> Verdict | None:
    norm = float(run.facts["norms"][number])
    if steps:
        expected = f"no update for group {number}: its gradient is inf or NaN"
        weights = run.tensors[f"weights.{updates + 1}"]
        if bool(torch.isfinite(weights).all()):
            look_at = "a gradient that is replaced still moves the weights: skip the step itself"
            return Verdict("stepped_on_replaced_gradient", expected, "an update with another gradient", look_at)
        if run.setting or number > run.case.overflowing[0]:
            look_at = "other overflows are elsewhere: the gradients tell, and scaler.step(optimizer) looks at them"
            return Verdict("overflow_missed", expected, "an update, and weights of NaN after it", look_at)
        look_at = "who decides on the step: scaler.step(optimizer) leaves it out, optimizer.step() does not"
        return Verdict("not_skipped", expected, "an update, and weights of NaN after it", look_at)
    if math.isfinite(norm):
        expected = f"inf or NaN as the norm of group {number}, which is skipped"
        look_at = "what is returned: the norm as it is, so that the caller sees the overflow"
        return Verdict("overflow_hidden", expected, f"{norm:,.4g}", look_at)
    return None


def _judge_scale(run: _Run, number: int) -> Verdict | None:
    found_inf = [update in run.case.overflowing for update in range(number + 1)]
    right = fold(right_rule, run.case.start_scale, run.case.growth_interval, found_inf)
    seen = float(run.facts["scales"][number])
    if seen == right:
        return None
    expected, measured = f"a scale of {right:,.6g} after group {number}", f"{seen:,.6g}"
    if len(set(run.facts["scales"])) == 1:
        look_at = "who calls scaler.update(): without it the scale neither falls nor recovers"
        return Verdict("scale_never_changes", expected, measured, look_at)
    look_at = "scaler.update() adjusts the scale: once for each group, and nobody else does"
    return Verdict("other_scale", expected, measured, look_at)


def _group(run: _Run, number: int, updates: int) -> Group:
    scale = fold(
        right_rule,
        run.case.start_scale,
        run.case.growth_interval,
        [update in run.case.overflowing for update in range(number)],
    )
    previous = run.tensors[f"gradient.{updates - 1}"] if updates else torch.zeros_like(run.tensors["weights.0"])
    parts = [
        _gradient(run.case, number, index, run.tensors[f"weights.{updates}"])
        for index in range(run.case.group_sizes[number])
    ]
    return Group(run.tensors[f"gradient.{updates}"], parts, previous, scale, FP16_TOLERANCE)


@lru_cache(maxsize=4)
def _model(case: GroupCase) -> nn.Sequential:
    return case.make_model()


def _gradient(case: GroupCase, number: int, index: int, weights: Tensor) -> Tensor:
    """Return the gradient of one micro-batch in float32."""
    model, (inputs, targets) = _model(case), case.make_group(number)[index]
    return gradient_at(model, lambda _: F.mse_loss(model(inputs), targets), weights, 0)
