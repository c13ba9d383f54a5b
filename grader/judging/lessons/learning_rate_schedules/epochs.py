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
from grader.judging.lessons.learning_rate_schedules.histories import explain_rates, first_wrong
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.learning_rate_schedules.epochs import EpochCase, epoch_cases, run_epoch
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict


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
        case: The setting.
        calls: What `record_library_calls` recorded, "rows" of each forward, and the names of the "optimizers".
        update_count: Updates that were made.
    """

    case: EpochCase
    calls: Mapping[str, Any]
    update_count: int

    @property
    def k(self) -> int:
        """Micro-batches of an update."""
        return self.case.k

    @property
    def forwards_in_trainer(self) -> int:
        """Forwards that the Trainer made."""
        return sum(self.calls["forwards_in_trainer"])

    @property
    def optimizers(self) -> str:
        """The optimizers, by name."""
        return "; ".join(self.calls["optimizers"])

    @property
    def rows(self) -> str:
        """Rows of the micro-batches."""
        return ", ".join(map(str, sorted(set(self.calls["rows"]))))


def judge_schedule_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the use of Accelerate, then the rates and the weights."""
    return _judge(observation, seed, ACCELERATE, "a loop inside accelerator.accumulate, with {k} accumulation steps")


def judge_schedule_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the use of the Trainer, then the rates and the weights."""
    return _judge(observation, seed, TRAINER, "one Trainer.train with {k} accumulation steps")


def _judge(observation: Observation, seed: int, usage: Table[Usage], form: str) -> Verdict:
    facts = observation.facts
    for case, calls, run in zip(epoch_cases(seed), facts["calls"], facts["runs"], strict=True):
        used = Usage(case, calls, len(run["rates"]))
        steps = calls["trainer"][:1] or calls["accumulate"][:1]
        forwards = f"{len(calls['rows'])} forwards, {used.forwards_in_trainer} of them in the Trainer"
        measured = f"{forwards}; accumulation steps: {steps}"
        verdict = usage.judge(used, expected=form.format(k=case.k), measured=measured)
        if verdict:
            return verdict
    runs = [run | {"weights": observation.tensors[str(index)]} for index, run in enumerate(facts["runs"])]
    answer = TABLE.answer(seed, runs)
    for key, describe in DESCRIPTIONS.items():
        part = answer.part(key)
        if not part.is_right:
            expected, measured = describe(part.truth, part.truth), describe(part.value, part.truth)
            verdict = TABLE.judge(answer, expected, measured) or TABLE.judge(part, expected, measured)
            code, diagnosis = _explain_rates(part) if key == "rates" else _explain_gradients(part)
            return verdict or Verdict(code, expected, measured, diagnosis)
    return Verdict(PASSED, "", f"rates and weights of the raw loop in {len(runs)} settings")


def _run(train: Callable[..., Any], case: EpochCase) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch complains of some misconceptions by itself
        return run_epoch(train, case)[0]


def _has_other_steps(usage: Usage) -> bool:
    steps = usage.calls["trainer"] if usage.forwards_in_trainer else usage.calls["accumulate"]
    return any(step != usage.k for step in steps)


def _explain_rates(part: Answer) -> tuple[str, str]:
    look = "Compare your rates with train_raw: the peak, the warm-up, the length, and one step for each update."
    return explain_rates(part, part.truth, part.value, look, math.ceil(part.case.warm_up * part.case.updates))


def _explain_gradients(part: Answer) -> tuple[str, str]:
    index = part.wrong[0]
    right, given = TABLE.truths(part.seed)[index]["norms"], part.values[index]["norms"]
    update, ratio = first_wrong(right, given, TABLE.is_near)
    look = "Rows come in order, in float32; a loss is divided by k once; a group is clipped once, by its norm."
    if update < 0:
        return UNRECOGNISED, f"Your rates and the norms of your gradients are right, but not their directions. {look}"
    what = f"the norm of your gradient at update {update} is {ratio:.4g} times the right one"
    return "other_gradients", f"Your rates are right, but {what}. {look}"


OTHER_STEPS: Misconception[Usage] = Misconception(
    "other_accumulation_steps",
    "You do not hand `k` to the library. Set gradient_accumulation_steps=k.",
    shown_by=_has_other_steps,
)
SAME_RUN: tuple[Misconception[Usage], ...] = (
    Misconception(
        "other_rows",
        "Your micro-batches do not have `rows` rows. Set the loader's batch_size, or per_device_train_batch_size.",
        shown_by=lambda usage: set(usage.calls["rows"]) != {usage.case.rows},
        expected="micro-batches of {case.rows} rows",
        measured="micro-batches of {rows} rows",
    ),
    Misconception(
        "epoch_repeated",
        "You train for more than one epoch. The Trainer's default is three, and its max_steps counts updates.",
        shown_by=lambda usage: len(usage.calls["rows"]) > usage.k * usage.case.updates,
        expected="{case.updates} x {k} forwards",
    ),
    Misconception(
        "another_optimizer",
        "You do not train with plain SGD. Leave out momentum and weight decay; in the Trainer, replace the default "
        "AdamW by optim='sgd'.",
        shown_by=lambda usage: bool(usage.optimizers) and ("Adam" in usage.optimizers or "," in usage.optimizers),
        expected="torch.SGD",
        measured="{optimizers}",
    ),
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
    *SAME_RUN,
    Misconception(
        "optimizer_not_prepared",
        "Your optimizer steps at every micro-batch. A prepared one waits for the last of a group: pass it to "
        "accelerator.prepare.",
        shown_by=lambda usage: usage.update_count > usage.case.updates,
        expected="{case.updates} updates",
        measured="{update_count} updates",
    ),
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
        shown_by=lambda usage: usage.forwards_in_trainer < len(usage.calls["rows"]),
    ),
    OTHER_STEPS,
    *SAME_RUN,
)
DESCRIPTIONS: dict[str, Callable[[Any, Any], str]] = {
    "rates": lambda rates, _: f"{len(rates)} updates with rates " + ", ".join(f"{rate:.4g}" for rate in rates[:8]),
    "weights": lambda weights, truth: (
        "the weights of the raw loop"
        if weights is truth
        else f"weights {torch.dist(weights, truth):.2g} away from them"
    ),
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
        "it to accelerator.prepare, and leave step_scheduler_with_optimizer as it is.",
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
            {COSINE: 'get_scheduler("cosine", optimizer, math.ceil(warm_up * updates) * k, updates * k)'},
        ],
    ),
    Misconception(
        "warm_up_in_micro_batches",
        "You take the warm-up as a share of the micro-batches or rows. It is a share of the updates.",
        {WARM_UP: "math.ceil(warm_up * len(batches))"},
        variants=[{WARM_UP: "math.ceil(warm_up * len(dataset))"}],
    ),
    Misconception(
        "warm_up_rounded_down",
        "You round the warm-up down. The Trainer rounds the share up, and the other forms have to agree.",
        {WARM_UP: "int(warm_up * updates)"},
    ),
    Misconception(
        "warm_up_always_one_longer",
        "You round the warm-up down and add 1, which is one too many for a whole number. Use math.ceil.",
        {WARM_UP: "int(warm_up * updates) + 1"},
    ),
    Misconception(
        "no_warm_up",
        "Your schedule has no warm-up. Its share of the updates is `warm_up`, which the Trainer takes as warmup_steps.",
        {WARM_UP: "0"},
    ),
    Misconception(
        "warm_up_of_one_update",
        "Your warm-up takes one update. The Trainer's warmup_steps is a share only below 1, and get_scheduler always "
        "takes a count.",
        {WARM_UP: "1"},
        variants=[{WARM_UP: "warm_up"}],
    ),
    Misconception(
        "falls_linearly",
        "Your rate falls linearly, as by default in the Trainer. Set the schedule to cosine.",
        {COSINE: COSINE.replace("cosine", "linear")},
        variants=[{COSINE: 'get_scheduler("linear", optimizer, 0, updates)'}],
    ),
    Misconception(
        "constant_rate",
        "Your rate never falls. With `same_run`, replace its lr_scheduler_type; in a loop, use a cosine, and step it "
        "after each update.",
        {COSINE: 'get_scheduler("constant", optimizer)'},
        variants=[
            {COSINE: 'get_scheduler("constant_with_warmup", optimizer, math.ceil(warm_up * updates))'},
            {STEP: ""},
        ],
    ),
    Misconception(
        "other_peak",
        "You train with another peak. Pass `learning_rate` as it is; the Trainer's default is 5e-5.",
        {SGD: "torch.optim.SGD(model.parameters(), lr=5e-5)"},
        variants=[{SGD: f"torch.optim.SGD(model.parameters(), lr=learning_rate {by} k)"} for by in "*/"],
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
        "You update with the unclipped gradient. Clip it before the step: accelerator.clip_grad_norm_, or the "
        "Trainer's max_grad_norm.",
        {CLIP: ""},
    ),
    Misconception(
        "another_max_norm",
        "You clip at another norm than `max_norm`. Pass it as it is; the Trainer's default is 1.",
        {CLIP: CLIP.replace("max_norm)", "1.0)")},
        variants=[{CLIP: CLIP.replace("max_norm)", "max_norm * k)")}],
    ),
    Misconception(
        "gradient_not_averaged",
        "Your gradient is the sum over a group, not its mean. accelerator.backward(loss) divides by k; the Trainer "
        "does while accepts_loss_kwargs is False.",
        {BACKWARD: "model(**batch).loss.backward()"},
    ),
    Misconception(
        "gradient_divided_twice",
        "You divide the loss by k, and the library divides again: accelerator.backward and the Trainer do.",
        {BACKWARD: "(model(**batch).loss / k**2).backward()"},
    ),
    Misconception(
        "only_the_last_micro_batch",
        "You clear the gradients at the start of the loop's body. A prepared optimizer does so in the last micro-batch "
        "of a group only, and loses the others. Clear after the step.",
        {BACKWARD: f"(index + 1) % k or optimizer.zero_grad(); {BACKWARD}"},
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
