"""Judges a raw loop that accumulates, clips and steps a schedule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.judging.lessons.learning_rate_schedules.histories import explain_rates, first_wrong
from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.learning_rate_schedules.scheduled import ScheduledCase, run_scheduled, scheduled_cases
from grader.observation import Observation
from grader.testbed.regressions import MicroBatch
from grader.verdict import PASSED, UNRECOGNISED, Verdict

Loss = Callable[[Tensor, Tensor], Tensor]


def train_scheduled(
    model: nn.Module,
    loss_function: Loss,
    optimizer: Optimizer,
    scheduler: Any,
    micro_batches: Sequence[MicroBatch],
    k: int,
    max_norm: float,
) -> list[float]:
    """Train one epoch; return the norm of each update's gradient before it is clipped."""
    clip = nn.utils.clip_grad_norm_
    norms = []
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            loss = loss_function(model(inputs), targets)
            (loss / len(group)).backward()  # type: ignore[no-untyped-call]
        norms.append(clip(model.parameters(), max_norm).item())
        optimizer.step()
        scheduler.step()
    return norms


def judge_scheduled_updates(observation: Observation, seed: int) -> Verdict:
    """Compare the rates, then the norms, then the weights."""
    runs = [run | {"weights": observation.tensors[str(index)]} for index, run in enumerate(observation.facts["runs"])]
    answer = TABLE.answer(seed, runs)
    for key, describe in DESCRIPTIONS.items():
        part = answer.part(key)
        if part.is_right:
            continue
        case: ScheduledCase = part.case
        expected = f"{describe(part.truth, part.truth)} ({case.micro_batches} micro-batches, k = {case.k})"
        measured = describe(part.value, part.truth)
        verdict = TABLE.judge(answer, expected, measured) or TABLE.judge(part, expected, measured)
        code, diagnosis = EXPLAIN[key](part)
        return verdict or Verdict(code, expected, measured, diagnosis)
    return Verdict(PASSED, "", f"rates, norms and weights right in {len(runs)} runs, one with a short last group")


def _run(train: Callable[..., Any], case: ScheduledCase) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch complains of some misconceptions by itself
        return run_scheduled(train, case)


def _numbers(values: Sequence[float]) -> str:
    return f"{len(values)} updates: " + ", ".join(f"{value:.4g}" for value in values[:8])


def _updates_each_micro_batch(answer: Answer) -> bool:
    return answer.key is None and len(answer.value["rates"]) == answer.case.micro_batches


def _explain_norms(part: Answer) -> tuple[str, str]:
    first, ratio = first_wrong(part.truth, part.value, TABLE.is_near)
    count, groups = len(part.value), len(part.truth)
    if count != groups:
        return (
            "other_count_of_norms",
            f"You return {count} norms for {groups} groups. Append one for each group, at its end.",
        )
    if first == 0:
        rule = "It is the Euclidean norm of all gradients together, for the group's mean loss, before clipping."
        return "other_first_norm", f"Your first norm, before any update, is {ratio:.4g} times the right one. {rule}"
    place = f"but norm {first}, counted from 0, is {ratio:.4g} times the right one"
    return "other_update", f"Your first norms are right, {place}. Look at its group, and at the update before it."


DESCRIPTIONS: dict[str, Callable[[Any, Any], str]] = {
    "rates": lambda values, _: f"rates of {_numbers(values)}",
    "final_rate": lambda value, _: f"rate {value:.4g} for the update that would follow",
    "norms": lambda values, _: f"norms of {_numbers(values)}",
    "weights": lambda weights, truth: (
        "the weights after right updates"
        if weights is truth
        else f"weights {torch.dist(weights, truth):.2g} away from them"
    ),
}
EXPLAIN: dict[str, Callable[[Answer], tuple[str, str]]] = {
    "rates": lambda part: explain_rates(part, part.truth, part.value, LOOK_AT),
    "final_rate": lambda _: (UNRECOGNISED, "Count your calls of scheduler.step(): one after each update."),
    "norms": _explain_norms,
    "weights": lambda _: (UNRECOGNISED, "All your norms are right. Look at the last gradient between norm and update."),
}
LOOK_AT = "Each group, the short last one too, makes one update; scheduler.step() follows it once, without a number."
CLIP = "norms.append(clip(model.parameters(), max_norm).item())"
BACKWARD = "(loss / len(group)).backward()"
STEPS = "optimizer.step()\n        scheduler.step()"

TABLE = ReferenceTable(
    train_scheduled,
    Misconception(
        "schedule_stepped_each_micro_batch",
        "You step the schedule after every micro-batch, so that it runs k times too fast. Step it once per update.",
        {BACKWARD: f"{BACKWARD}; scheduler.step()", STEPS: "optimizer.step()"},
    ),
    Misconception(
        "update_each_micro_batch",
        "You update after every micro-batch. Clip, update and step the schedule once for each group.",
        shown_by=_updates_each_micro_batch,
    ),
    Misconception(
        "schedule_never_stepped",
        "You do not step the schedule after each update, so the rate stays where it is.",
        {STEPS: "optimizer.step()"},
        variants=[{STEPS: "optimizer.step()", "return norms": "scheduler.step()\n    return norms"}],
    ),
    Misconception(
        "schedule_before_the_update",
        "You step the schedule before the optimizer: the first rate is skipped. Step the optimizer first.",
        {STEPS: "scheduler.step()\n        optimizer.step()"},
    ),
    Misconception(
        "clipped_each_micro_batch",
        "You clip after every backward pass, so that each micro-batch counts no more than the norm allows. "
        "Clip the gradient of the whole group, once.",
        {BACKWARD: f"{BACKWARD}; norm = clip(model.parameters(), max_norm)", CLIP: "norms.append(norm.item())"},
        variants=[
            {BACKWARD: f"{BACKWARD}; clip(model.parameters(), max_norm)"},
            {
                BACKWARD: "loss.backward(); norm = clip(model.parameters(), max_norm)",
                CLIP: "norms.append(norm.item())",
            },
        ],
    ),
    Misconception(
        "not_clipped",
        "You update with the whole gradient. Scale gradients above `max_norm` down to it, before optimizer.step().",
        {CLIP: "norms.append(clip(model.parameters(), float('inf')).item())"},
    ),
    Misconception(
        "clipped_by_value",
        "You clip each number of the gradient, which changes its direction. Clip its norm.",
        {
            CLIP: "norms.append(clip(model.parameters(), float('inf')).item())\n"
            "        nn.utils.clip_grad_value_(model.parameters(), max_norm)"
        },
    ),
    Misconception(
        "another_max_norm",
        "You clip at another norm than `max_norm`. Pass it as it is: what you divide is the loss.",
        {"clip(model.parameters(), max_norm)": "clip(model.parameters(), 1.0)"},
        variants=[
            {"clip(model.parameters(), max_norm)": "clip(model.parameters(), max_norm * len(group))"},
            {"clip(model.parameters(), max_norm)": "clip(model.parameters(), max_norm / len(group))"},
        ],
    ),
    Misconception(
        "short_group_not_clipped",
        "You do not clip the short last group. Its gradient may be as large as that of any other.",
        {"clip(model.parameters(), max_norm)": "clip(model.parameters(), max_norm if len(group) == k else 1e9)"},
    ),
    Misconception(
        "clipped_each_tensor",
        "You clip each parameter's gradient by its own norm. The norm is that of all gradients together.",
        {
            CLIP: "norms.append(clip(model.parameters(), float('inf')).item())\n"
            "        for parameter in model.parameters(): clip([parameter], max_norm)"
        },
    ),
    Misconception(
        "norm_after_clipping",
        "You report the norm after clipping, which hides how large the gradient was. Report the norm before.",
        {CLIP: "norms.append(min(max_norm, clip(model.parameters(), max_norm).item()))"},
    ),
    Misconception(
        "scaled_up_to_the_norm",
        "You scale every gradient to `max_norm`, small ones up. Clipping leaves a gradient below it as it is.",
        {
            CLIP: "norm = clip(model.parameters(), float('inf'))\n        norms.append(norm.item())\n"
            "        for parameter in model.parameters(): parameter.grad *= max_norm / norm"
        },
    ),
    Misconception(
        "loss_not_divided",
        "You leave the loss undivided, so the gradient is the group's sum. Divide by the size of the group.",
        {BACKWARD: "loss.backward()"},
    ),
    Misconception(
        "last_group_divided_by_k",
        "You divide by k in the short last group, too. Divide by the size of the group.",
        {BACKWARD: "(loss / k).backward()"},
    ),
    Misconception(
        "schedule_stepped_for_full_groups",
        "You do not step the schedule after the short last group. It counts every update.",
        {STEPS: "optimizer.step()\n        if len(group) == k: scheduler.step()"},
    ),
    Misconception(
        "only_the_last_micro_batch",
        "Only the last micro-batch of your group reaches the update. Clear the gradients once per group, and call "
        "backward() for each micro-batch.",
        {BACKWARD: f"optimizer.zero_grad(); {BACKWARD}"},
        variants=[{BACKWARD: "optimizer.zero_grad(); loss.backward()"}],
    ),
    Misconception(
        "cleared_before_the_update",
        "You clear the gradients before optimizer.step(), so your updates change nothing. Clear them after it.",
        {STEPS: f"optimizer.zero_grad(); {STEPS}"},
    ),
    Misconception(
        "gradients_never_cleared",
        "You never clear the gradients, so each group adds to those before it.",
        {"        optimizer.zero_grad()\n": ""},
    ),
    run=_run,
    cases=scheduled_cases,
    is_near=within(relative=1e-3, absolute=1e-5),
)
