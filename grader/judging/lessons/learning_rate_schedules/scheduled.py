"""Judges a raw loop that accumulates, clips and steps a schedule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.learning_rate_schedules.scheduled import ScheduledCase, run_scheduled, scheduled_cases
from grader.observation import Observation
from grader.testbed.regressions import MicroBatch
from grader.verdict import PASSED, Verdict

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
        expected = f"{describe(part.truth)} ({case.micro_batches} micro-batches, k = {case.k})"
        otherwise = f"Print the {key.replace('_', ' ')} of each update, and find the first that differs."
        return TABLE.explain(answer, part, expected=expected, measured=describe(part.value), otherwise=otherwise)
    return Verdict(PASSED, "", f"rates, norms and weights right in {len(runs)} runs, one with a short last group")


def _run(train: Callable[..., Any], case: ScheduledCase) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch complains of some misconceptions by itself
        return run_scheduled(train, case)


def _numbers(values: Sequence[float]) -> str:
    return f"{len(values)} updates: " + ", ".join(f"{value:.3g}" for value in values[:8])


DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "rates": lambda values: f"rates of {_numbers(values)}",
    "final_rate": lambda value: f"rate {value:.3g} for the update that would follow",
    "norms": lambda values: f"norms of {_numbers(values)}",
    "weights": lambda weights: f"weights of norm {torch.linalg.vector_norm(weights):.5g}",
}
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
        {
            BACKWARD: f"{BACKWARD}; {CLIP}; optimizer.step(); scheduler.step(); optimizer.zero_grad()",
            f"{CLIP}\n        {STEPS}": "pass",
        },
        variants=[
            {
                BACKWARD: f"loss.backward(); {CLIP}; optimizer.step(); scheduler.step(); optimizer.zero_grad()",
                f"{CLIP}\n        {STEPS}": "pass",
            }
        ],
    ),
    Misconception(
        "schedule_never_stepped",
        "You never step the schedule, so the rate stays where it is.",
        {STEPS: "optimizer.step()"},
    ),
    Misconception(
        "schedule_stepped_once_an_epoch",
        "You step the schedule once at the end of the epoch. It counts updates.",
        {STEPS: "optimizer.step()", "return norms": "scheduler.step()\n    return norms"},
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
        "clipped_at_one",
        "You clip at norm 1, whatever `max_norm` is.",
        {"clip(model.parameters(), max_norm)": "clip(model.parameters(), 1.0)"},
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
        "last_group_lost",
        "You leave out the short last group. It needs an update, too.",
        {"len(micro_batches), k)": "len(micro_batches) - k + 1, k)"},
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
