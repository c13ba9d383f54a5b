"""Judges fp16 updates from groups of micro-batches: unscaled, clipped, skipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.lessons.mixed_precision.regions import judge_regions
from grader.judging.lessons.mixed_precision.weights import judge_movement, judge_start
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.judging.updates import most_forwards_waiting
from grader.judging.vectors import tensors_of
from grader.lessons.mixed_precision.groups import FP16_LEARNING_RATE, GroupCase, group_cases
from grader.lessons.mixed_precision.scaler_runs import observe_groups
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

TOLERANCE = 0.02  # fp16 rounds by 2**-11 at each layer, which leaves 0.1 % on these models

Run = Mapping[str, Sequence[Any]]


def train_group(
    model: nn.Module,
    loss_function: Callable[[Tensor, Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    micro_batches: list[tuple[Tensor, Tensor]],
    max_norm: float,
) -> float:
    """Make one fp16 update from a group of equal micro-batches, and return the norm of its unscaled gradient."""
    optimizer.zero_grad()
    for inputs, targets in micro_batches:
        with torch.autocast(inputs.device.type, torch.float16):
            loss = loss_function(model(inputs), targets) / len(micro_batches)
        torch.autograd.backward(scaler.scale(loss))
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# The parts of the reference that misconceptions edit.
CLEARED = "optimizer.zero_grad()"
LOOP = "for inputs, targets in micro_batches:"
DIVIDED = " / len(micro_batches)"
BACKWARD = "torch.autograd.backward(scaler.scale(loss))"
UNSCALED = "scaler.unscale_(optimizer)"
CLIPPED = "nn.utils.clip_grad_norm_(model.parameters(), max_norm)"
STEPPED = "scaler.step(optimizer)"
UPDATED = "scaler.update()"
RETURNED = "return norm.item()"

NORM = "nn.utils.get_total_norm([parameter.grad for parameter in model.parameters()])"


def judge_clipped_updates(observation: Observation, seed: int) -> Verdict:
    """Judge every group of every setting, and report the first that differs."""
    cases, settings = group_cases(seed), observation.facts["settings"]
    tensors = [tensors_of(observation, setting) for setting in range(len(cases))]
    for case, facts, recorded in zip(cases, settings, tensors, strict=True):
        verdict = judge_regions(facts, sum(case.group_sizes), case.rows, "float16")
        verdict = verdict or judge_start(recorded, case.make_model())
        if verdict:
            return verdict
    runs = [_run_of(facts, recorded) for facts, recorded in zip(settings, tensors, strict=True)]
    for setting, case in enumerate(cases):
        for number in range(len(case.group_sizes)):
            group = Group(case, setting, number, runs, TABLE.truths(seed))
            verdict = _judge_group(group, seed) or _judge_movement(group, tensors[setting])
            if verdict:
                return verdict
    updates, skipped = (
        sum(map(len, parts)) for parts in zip(*((c.group_sizes, c.overflowing) for c in cases), strict=True)
    )
    measured = f"{updates} updates in fp16, {skipped} of them skipped; the others unscaled, then clipped"
    return Verdict(PASSED, "unscaled, clipped and skipped as it should be", measured)


def _judge_group(group: Group, seed: int) -> Verdict | None:
    verdict = EVENTS.judge(group)
    if verdict or not group.part:
        return verdict
    answer = TABLE.answer(seed, group.runs)
    evidence = (answer, answer.part(group.part)) if group.part != "scales" else (answer,)
    explained = (TABLE.judge(part, group.expected, group.measured) for part in evidence)
    return next(filter(None, explained), None) or GROUP.explain(
        group,
        expected=group.expected,
        measured=group.measured,
        otherwise="Your update differs. Look at which gradients enter it, and at what each line does to them.",
    )


def _judge_movement(group: Group, tensors: Mapping[str, Tensor]) -> Verdict | None:
    if not group.updates:
        return None
    before = sum(map(len, group.run["gradients"][: group.number]))
    return judge_movement(tensors, before, FP16_LEARNING_RATE, group.name)


def _run_of(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Run:
    """Return the events, the gradients of the updates, the norm and the scale of each group."""
    calls: list[list[str]] = []
    for event in facts["events"]:
        if event == "call":
            calls.append([])
        else:
            calls[-1].append(event)
    gradients = (tensors[f"gradient.{update}"].cpu() for update in range(facts["events"].count("update")))
    return {
        "events": calls,
        "gradients": [[next(gradients) for _ in range(events.count("update"))] for events in calls],
        "norms": list(facts["norms"]),
        "scales": list(facts["scales"]),
    }


def _run(train_group: Callable[..., float], case: GroupCase) -> Run:
    with torch.enable_grad():
        facts, tensors = observe_groups(train_group, case, "0")
    return _run_of(facts, {name.removeprefix("0."): value for name, value in tensors.items()})


def _is_near(answer: Any, value: Any) -> bool:
    """Whether two runs, or parts of them, are equal except for rounding in fp16; inf equals NaN."""
    if isinstance(value, dict):
        return all(_is_near(answer[part], value[part]) for part in value if part != "events")
    if isinstance(value, list):
        return len(answer) == len(value) and all(map(_is_near, answer, value))
    seen, wanted = torch.as_tensor(answer).double().flatten(), torch.as_tensor(value).double().flatten()
    if not bool(wanted.isfinite().all()):
        return not bool(seen.isfinite().all())
    return compare(seen, wanted).relative_error <= TOLERANCE


@dataclass(frozen=True, eq=False)
class Group:
    """One group; all before it are right.

    Attributes:
        case: Its setting.
        setting: The number of the setting.
        number: Which group, counted from 0.
        runs: What the learner's function did in each setting.
        right: What a right function does in each.
    """

    case: GroupCase
    setting: int
    number: int
    runs: Sequence[Run]
    right: Sequence[Run]

    @property
    def run(self) -> Run:
        """What the learner's function did in its setting."""
        return self.runs[self.setting]

    @property
    def part(self) -> str:
        """What differs first: "gradients", "norms" or "scales"; empty where nothing does."""
        right = self.right[self.setting]
        parts = ("gradients", "norms", "scales")
        return next((p for p in parts if not _is_near(self.run[p][self.number], right[p][self.number])), "")

    @property
    def name(self) -> str:
        """The group, in words."""
        return f"group {self.number + 1} (counted from 1)"

    @property
    def size(self) -> int:
        """How many micro-batches it has."""
        return self.case.group_sizes[self.number]

    @property
    def events(self) -> Sequence[str]:
        """What happened in its call."""
        events: Sequence[str] = self.run["events"][self.number]
        return events

    @property
    def forwards(self) -> int:
        """How many forwards there are."""
        return self.events.count("forward")

    @property
    def waiting(self) -> int:
        """How many forwards at most ran without a backward between them."""
        return most_forwards_waiting(self.events)

    @property
    def updates(self) -> int:
        """How many updates there are."""
        return len(self.run["gradients"][self.number])

    @property
    def is_overflowing(self) -> bool:
        """Whether its gradient exceeds fp16."""
        return self.number in self.case.overflowing

    @property
    def norm_ratio(self) -> float:
        """The returned norm as a multiple of the right one."""
        return float(self.run["norms"][self.number] / self.right[self.setting]["norms"][self.number])

    @property
    def expected(self) -> str:
        """What a right function does."""
        right = {part: values[self.number] for part, values in self.right[self.setting].items()}
        if self.part == "scales":
            return f"a scale of {right['scales']:,.6g} after {self.name}"
        if self.part == "norms" and self.is_overflowing:
            return f"inf or NaN as the norm of {self.name}, which is skipped"
        if self.part == "norms":
            return f"{right['norms']:.4g} for {self.name}: the norm of the unscaled gradient, before it is clipped"
        if self.is_overflowing:
            return f"no update for {self.name}: its gradient is inf or NaN"
        return f"one update for {self.name}, with an unscaled, clipped gradient of norm {_norm(right['gradients']):.4g}"

    @property
    def measured(self) -> str:
        """What the learner's function does."""
        if self.part != "gradients":
            return f"{self.run[self.part][self.number]:,.6g}"
        if self.updates != 1:
            return f"{self.updates} updates"
        return f"an update with a gradient of norm {_norm(self.run['gradients'][self.number]):.4g}"


def _norm(gradients: Sequence[Tensor]) -> float:
    return float(torch.linalg.vector_norm(gradients[0]))


EVENTS = Table[Group](
    Misconception(
        "micro_batches_not_seen_once",
        "You run {forwards} forwards for {size} micro-batches. Go through the group once.",
        shown_by=lambda group: group.forwards != group.size,
        expected="{size} forwards in {name}, one for each micro-batch",
        measured="{forwards} forwards",
    ),
    Misconception(
        "graphs_kept",
        "You hold {waiting} graphs at once. Call backward() after each forward.",
        shown_by=lambda group: group.waiting > 1,
        expected="each forward of {name} followed by its backward",
        measured="{waiting} forwards before a backward",
    ),
    Misconception(
        "stepped_twice",
        "You step twice: scaler.step(optimizer) calls optimizer.step() itself. Leave out the second step.",
        shown_by=lambda group: any(pair == ("update", "update") for pair in pairwise(group.events)),
        expected="one update for {name}",
        measured="{updates} updates, one right after the other",
    ),
    Misconception(
        "update_every_micro_batch",
        "You step within the group. Step once, after the loop over its micro-batches.",
        shown_by=lambda group: group.updates > 1,
        expected="one update for {name}",
        measured="{updates} updates",
    ),
)

GROUP = Table[Group](
    Misconception(
        "skipped_without_infinity",
        "You skip a group whose gradients are finite. Let scaler.step(optimizer) decide: it has looked at them.",
        shown_by=lambda group: not group.updates and not group.is_overflowing,
    ),
    Misconception(
        "stepped_on_infinity",
        "You step although a gradient is inf or NaN. Let scaler.step(optimizer) decide: it has looked at them.",
        shown_by=lambda group: group.is_overflowing and group.updates > 0,
    ),
    Misconception(
        "overflow_hidden",
        "You return a finite norm for a group that overflows. Return the norm as it is, so that the caller sees it.",
        shown_by=lambda group: group.part == "norms" and group.is_overflowing,
    ),
    Misconception(
        "other_norm_returned",
        "You return {norm_ratio:.3g} times the norm of the group's gradient. Look for a factor in the loss, and at "
        "when you take the norm.",
        shown_by=lambda group: group.part == "norms",
    ),
    Misconception(
        "other_scale",
        "You set the scale yourself, or leave it. Call scaler.update() once for each group, without an argument.",
        shown_by=lambda group: group.part == "scales",
    ),
)

TABLE = ReferenceTable(
    train_group,
    Misconception(
        "gradient_not_averaged",
        "You add up the losses of the group. Divide each by the number of its micro-batches.",
        {DIVIDED: ""},
    ),
    Misconception(
        "averaged_twice",
        "You divide by the number of micro-batches twice. Divide either each loss or the gradient.",
        {DIVIDED: " / len(micro_batches) ** 2"},
    ),
    Misconception(
        "clipped_before_unscaling",
        "You clip the scaled gradient, and scaler.step divides what is left by the scale. Call scaler.unscale_ before "
        "you clip.",
        {UNSCALED: "pass"},
    ),
    Misconception(
        "clipped_each_micro_batch",
        "You clip after each micro-batch, which clips the scaled sum so far. Clip once, after unscale_.",
        {f"{BACKWARD}\n": f"{BACKWARD}; {CLIPPED}\n"},
    ),
    Misconception(
        "not_unscaled",
        "You step on the scaled gradient. Call scaler.unscale_ before you clip, and step by scaler.step.",
        {UNSCALED: "pass", STEPPED: "optimizer.step()", UPDATED: "pass"},
        variants=[{UNSCALED: "pass", CLIPPED: NORM, STEPPED: "optimizer.step()", UPDATED: "pass"}],
    ),
    Misconception(
        "not_clipped",
        "You measure the norm, but do not clip. Call clip_grad_norm_ before the step.",
        {CLIPPED: NORM},
    ),
    Misconception(
        "clipped_by_value",
        "You clip each number on its own, which turns the gradient. Clip its norm.",
        {CLIPPED: f"{NORM}; nn.utils.clip_grad_value_(model.parameters(), max_norm)"},
        variants=[{CLIPPED: f"{NORM}; nn.utils.clip_grad_value_(model.parameters(), max_norm / 10)"}],
    ),
    Misconception(
        "clipped_to_another_norm",
        "You clip to norm 1. Clip to `max_norm`.",
        {CLIPPED: CLIPPED.replace("max_norm", "1.0")},
    ),
    Misconception(
        "largest_number_clipped",
        "You measure and clip the largest number of the gradient. Clip its norm: leave norm_type at 2.",
        {CLIPPED: CLIPPED.replace("max_norm)", 'max_norm, norm_type=float("inf"))')},
    ),
    Misconception(
        "infinity_kept",
        "You leave the gradients of a skipped group in .grad, so every later group has inf or NaN. Clear them before "
        "each group.",
        {CLEARED: "pass"},
    ),
    Misconception(
        "cleared_within_group",
        "You clear the gradients within the group, so only its last micro-batch counts. Clear them once, before the "
        "loop.",
        {LOOP: f"{LOOP}\n        optimizer.zero_grad()"},
    ),
    Misconception(
        "not_skipped",
        "You step by optimizer.step(), which steps on inf and NaN. Call scaler.step(optimizer): it leaves such steps "
        "out.",
        {STEPPED: "optimizer.step()"},
    ),
    Misconception(
        "clipped_norm_returned",
        "You return the norm after the clipping. Return what clip_grad_norm_ returns: the norm before it.",
        {RETURNED: f"return {NORM}.item()"},
    ),
    Misconception(
        "scaled_norm_returned",
        "You return the norm of the scaled gradient. Take it after scaler.unscale_.",
        {UNSCALED: f"norm = {NORM}; {UNSCALED}", f"norm = {CLIPPED}": CLIPPED},
    ),
    run=_run,
    cases=group_cases,
    is_near=_is_near,
)
