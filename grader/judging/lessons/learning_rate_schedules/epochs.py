"""Judges one epoch by a cosine schedule, in the form of Accelerate and of the Trainer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader
from transformers import get_scheduler

from grader.device import lesson_device
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.learning_rate_schedules.epochs import EpochCase, epoch_cases, run_epoch
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def train_epoch(
    model: Any, dataset: Any, rows: int, k: int, learning_rate: float, warm_up: float, max_norm: float
) -> None:
    """Train one epoch in a raw loop: the schedule counts updates, and the warm-up's share is rounded up."""
    batches = list(DataLoader(dataset, batch_size=rows))
    updates = len(batches) // k
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    scheduler = get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)
    for index, batch in enumerate(batches):
        batch = {name: values.to(lesson_device()) for name, values in batch.items()}
        (model(**batch).loss / k).backward()
        if (index + 1) % k == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()


@dataclass(frozen=True)
class Usage:
    """How a learner's function used the libraries in one setting.

    Attributes:
        k: Micro-batches of an update.
        calls: What `record_library_calls` recorded, and "forwards".
    """

    k: int
    calls: Mapping[str, Any]

    @property
    def forwards_in_trainer(self) -> int:
        """Forwards that the Trainer made."""
        return sum(self.calls["forwards_in_trainer"])


def judge_schedule_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the use of Accelerate, then the rates and the weights."""
    return _judge(observation, seed, ACCELERATE, "a loop inside accelerator.accumulate, with {k} accumulation steps")


def judge_schedule_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the use of the Trainer, then the rates and the weights."""
    return _judge(observation, seed, TRAINER, "one Trainer.train with {k} accumulation steps")


def _judge(observation: Observation, seed: int, usage: Table[Usage], form: str) -> Verdict:
    for case, calls in zip(epoch_cases(seed), observation.facts["calls"], strict=True):
        steps = calls["trainer"][:1] or calls["accumulate"][:1]
        in_trainer = sum(calls["forwards_in_trainer"])
        measured = f"{calls['forwards']} forwards, {in_trainer} of them in the Trainer; accumulation steps: {steps}"
        verdict = usage.judge(Usage(case.k, calls), expected=form.format(k=case.k), measured=measured)
        if verdict:
            return verdict
    runs = [run | {"weights": observation.tensors[str(index)]} for index, run in enumerate(observation.facts["runs"])]
    answer = TABLE.answer(seed, runs)
    for key, describe in DESCRIPTIONS.items():
        part = answer.part(key)
        if not part.is_right:
            return TABLE.explain(
                answer, part, expected=describe(part.truth), measured=describe(part.value), otherwise=OTHERWISE[key]
            )
    return Verdict(PASSED, "", f"rates and weights of the raw loop in {len(runs)} settings")


def _run(train: Callable[..., Any], case: EpochCase) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch complains of some misconceptions by itself
        return run_epoch(train, case)[0]


def _has_other_steps(usage: Usage) -> bool:
    steps = usage.calls["trainer"] if usage.forwards_in_trainer else usage.calls["accumulate"]
    return any(step != usage.k for step in steps)


OTHER_STEPS: Misconception[Usage] = Misconception(
    "other_accumulation_steps",
    "You do not hand `k` to the library. Set gradient_accumulation_steps=k.",
    shown_by=_has_other_steps,
)
ACCELERATE = Table[Usage](
    Misconception(
        "trainer_used",
        "You train with the Trainer. Write a loop with Accelerate.",
        shown_by=lambda usage: usage.forwards_in_trainer > 0,
    ),
    Misconception(
        "accumulate_not_used",
        "You never enter accelerator.accumulate(model). Put the body of your loop inside it.",
        shown_by=lambda usage: not usage.calls["accumulate"],
    ),
    OTHER_STEPS,
)
TRAINER = Table[Usage](
    Misconception(
        "trainer_not_used",
        "You train without the Trainer. Make one and call its .train().",
        shown_by=lambda usage: usage.forwards_in_trainer == 0,
    ),
    Misconception(
        "trained_in_a_loop_too",
        "You train the model in a loop as well. The Trainer writes the whole loop.",
        shown_by=lambda usage: usage.forwards_in_trainer < usage.calls["forwards"],
    ),
    OTHER_STEPS,
)
DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "rates": lambda rates: f"{len(rates)} updates with rates " + ", ".join(f"{rate:.3g}" for rate in rates[:8]),
    "weights": lambda weights: f"weights of norm {torch.linalg.vector_norm(weights):.6g}",
}
OTHERWISE = {
    "rates": "Print the rate before each update. Is it the peak, the warm-up, the length or the shape that differs?",
    "weights": "The rates are right, the gradients are not. Look at what is divided, clipped and cleared, and when.",
}
WARM_UP = "math.ceil(warm_up * updates)"
COSINE = 'get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), updates)'
STEP = "            scheduler.step()\n"
CLEAR = "            optimizer.zero_grad()\n"
CLIP = "            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n"
BACKWARD = "(model(**batch).loss / k).backward()"
SGD = "torch.optim.SGD(model.parameters(), lr=learning_rate)"

TABLE = ReferenceTable(
    train_epoch,
    Misconception(
        "schedule_stepped_each_micro_batch",
        "Your schedule moves at every micro-batch, k times too fast. A prepared scheduler waits for the update: pass "
        "it to accelerator.prepare.",
        {STEP: "", CLEAR: f"{CLEAR}        scheduler.step()\n"},
        variants=[{STEP: "", BACKWARD: f"{BACKWARD}; scheduler.step()"}],
    ),
    Misconception(
        "length_in_micro_batches",
        "You give the schedule the number of micro-batches as its length. It counts updates: 1 for every k "
        "micro-batches.",
        {"updates = len(batches) // k": "updates = len(batches)"},
        variants=[
            {COSINE: 'get_scheduler("cosine", optimizer, math.ceil(warm_up * updates), len(batches))'},
            {WARM_UP: "math.ceil(warm_up * len(batches))"},
        ],
    ),
    Misconception(
        "warm_up_rounded_down",
        "You round the warm-up down. The Trainer rounds the share up, and the other forms have to agree.",
        {WARM_UP: "int(warm_up * updates)"},
    ),
    Misconception(
        "no_warm_up",
        "Your schedule has no warm-up. Its share of the updates is `warm_up`, which the Trainer takes as warmup_steps.",
        {WARM_UP: "0"},
    ),
    Misconception(
        "warm_up_of_one_update",
        "Your warm-up takes one update: a share was taken for a count. Only a number below 1 is a share.",
        {WARM_UP: "1"},
    ),
    Misconception(
        "falls_linearly",
        "Your rate falls linearly, the Trainer's default. Set the schedule to cosine.",
        {COSINE: COSINE.replace("cosine", "linear")},
        variants=[{COSINE: 'get_scheduler("linear", optimizer, 0, updates)'}],
    ),
    Misconception(
        "constant_rate",
        "Your rate never changes. With `same_run`, replace its lr_scheduler_type; in a loop, step the schedule.",
        {COSINE: 'get_scheduler("constant", optimizer)'},
        variants=[{COSINE: 'get_scheduler("constant_with_warmup", optimizer, math.ceil(warm_up * updates))'}],
    ),
    Misconception(
        "other_peak",
        "You train with another peak: the default of the Trainer is 5e-5. Set learning_rate.",
        {SGD: "torch.optim.SGD(model.parameters(), lr=5e-5)"},
        variants=[{SGD: "torch.optim.SGD(model.parameters(), lr=learning_rate / k)"}],
    ),
    Misconception(
        "schedule_before_the_update",
        "You step the schedule before the optimizer, so that the first rate is skipped.",
        {STEP: "", "            optimizer.step()\n": "            scheduler.step()\n            optimizer.step()\n"},
    ),
    Misconception(
        "clipped_each_micro_batch",
        "You clip after every backward pass. Clip once, when `accelerator.sync_gradients` is true.",
        {BACKWARD: f"{BACKWARD}; torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)", CLIP: ""},
    ),
    Misconception(
        "not_clipped",
        "You do not clip the gradient. Use `max_norm`: accelerator.clip_grad_norm_, or the Trainer's max_grad_norm.",
        {CLIP: ""},
    ),
    Misconception(
        "clipped_at_one",
        "You clip at norm 1, the Trainer's default. Use `max_norm`.",
        {CLIP: CLIP.replace("max_norm)", "1.0)")},
    ),
    Misconception(
        "gradient_not_averaged",
        "You leave the loss undivided by k. Call accelerator.backward(loss), which divides.",
        {BACKWARD: "model(**batch).loss.backward()"},
    ),
    Misconception(
        "gradient_divided_twice",
        "You divide the loss by k, and accelerator.backward divides again.",
        {BACKWARD: "(model(**batch).loss / k**2).backward()"},
    ),
    Misconception(
        "another_optimizer",
        "You train with AdamW, which is the Trainer's default. Set optim to sgd.",
        {SGD: "torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)"},
        variants=[{SGD: "torch.optim.AdamW(model.parameters(), lr=learning_rate)"}],
    ),
    Misconception(
        "only_the_last_micro_batch",
        "You clear the gradients at the start of the loop's body. A prepared optimizer does so in the last micro-batch "
        "of a group only, and loses the others. Clear after the step.",
        {BACKWARD: f"(index + 1) % k or optimizer.zero_grad(); {BACKWARD}"},
    ),
    Misconception(
        "epoch_repeated",
        "You train for three epochs, the Trainer's default. Train for one.",
        {"batch_size=rows))": "batch_size=rows)) * 3"},
    ),
    Misconception(
        "gradients_never_cleared",
        "You never clear the gradients, so each update also holds those before it.",
        {CLEAR: ""},
    ),
    run=_run,
    cases=epoch_cases,
    is_near=within(relative=1e-3, absolute=2e-5),
)
