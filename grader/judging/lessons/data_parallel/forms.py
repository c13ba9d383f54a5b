"""Judges the Accelerate and the Trainer form on several ranks: equal to one process, and one all-reduce per update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import torch
from torch import Tensor

from grader.judging.forms import TRAINER_DEFAULTS, name_form
from grader.judging.kept import keep_cases
from grader.judging.lessons.data_parallel.accumulation import judge_rank
from grader.judging.lessons.data_parallel.reports import Facts, all_reduces, facts_of, tensors_of_rank
from grader.judging.misconceptions import Misconception, Table
from grader.judging.updates import Reference
from grader.judging.vectors import gradient_at
from grader.lessons.data_parallel.forms import ParallelFormsCase, parallel_forms_cases
from grader.lessons.data_parallel.hooks import LEARNING_RATE
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

ACCELERATE, TRAINER = "accelerate", "trainer"
NOT_DIVIDED = (
    "You leave a gradient that nobody divides by {}: the Trainer expects this model to do it. "
    "Set accepts_loss_kwargs = False on it, before Trainer(...)."
)
LOOK_AT = TRAINER_DEFAULTS | {
    "accelerate_gradient_not_averaged": "You do not divide by k. accelerator.backward(loss) does, if the Accelerator "
    "knows gradient_accumulation_steps.",
    "accelerate_gradient_divided_twice": "You divide by k, but accelerator.backward does so already.",
    "accelerate_update_every_micro_batch": "You make an update of every micro-batch. Give the Accelerator "
    "gradient_accumulation_steps=k, and enter accelerator.accumulate(model) for each micro-batch.",
    "accelerate_cleared_within_group": "You clear the gradients within a group. Call zero_grad() of the prepared "
    "optimizer, which waits for the end of the group.",
    "accelerate_ranks_not_averaged": "You call a model that is not prepared, so its gradients stay on their rank. Call "
    "what accelerator.prepare returns.",
    "trainer_gradient_not_averaged": NOT_DIVIDED.format("k"),
    "trainer_summed_over_ranks": NOT_DIVIDED.format("the number of ranks"),
    "trainer_summed_over_all": NOT_DIVIDED.format("k and the number of ranks"),
}


@dataclass(frozen=True)
class FormRun:
    """One form on one rank of one setting.

    Attributes:
        case: The setting.
        rank: Number of the rank.
        facts: What it reported.
    """

    case: ParallelFormsCase
    rank: int
    facts: Facts

    @cached_property
    def calls(self) -> Facts:
        """The calls of the libraries."""
        calls: Facts = self.facts["library"]
        return calls

    @property
    def in_trainer(self) -> int:
        """Forwards inside of Trainer.train."""
        return sum(self.calls["forwards_in_trainer"])

    @property
    def in_loop(self) -> int:
        """Forwards outside of Trainer.train."""
        return len(self.facts["forward_rows"]) - self.in_trainer

    @property
    def rows(self) -> int:
        """Rows of the first forward."""
        return int(next(iter(self.facts["forward_rows"]), 0))

    @property
    def has_rows(self) -> bool:
        """Whether the first forward has another number of rows than a micro-batch."""
        return self.rows not in (0, self.case.rows)

    def is_times(self, factor: int) -> bool:
        """Return whether the first forward has so many times the rows of a micro-batch."""
        return self.has_rows and self.rows == factor * self.case.rows

    @cached_property
    def first_rows(self) -> list[int]:
        """The rows of this rank's first update."""
        return [index for rows in self.facts["seen"][: self.case.k] for index in rows]

    @property
    def share_seen(self) -> float:
        """Which share of all rows this rank ran; rows that are alike count as one."""
        seen = {index for rows in self.facts["seen"] for index in rows}
        return len(seen) / (self.case.updates * self.case.batch)

    @cached_property
    def sent(self) -> list[int]:
        """The bytes of gradients that were all-reduced for each update."""
        few = self.gradient_bytes // 10  # losses and counts of labels are far smaller
        return [
            sum(one for one in all_reduces(calls) if one > few) for calls in self.facts["calls"][: self.case.updates]
        ]

    @cached_property
    def gradient_bytes(self) -> int:
        """The bytes of all gradients."""
        return sum(parameter.nbytes for parameter in self.case.make_model().parameters())

    @property
    def most_sent(self) -> int:
        """The bytes of the update for which most was all-reduced."""
        return max(self.sent, default=0)


def judge_data_parallel_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form: used as taught, equal to one process, and sent once per update."""
    return _judge(observation, seed, ACCELERATE)


def judge_data_parallel_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form: used as taught, equal to one process, and sent once per update."""
    return _judge(observation, seed, TRAINER)


def _judge(observation: Observation, seed: int, form: str) -> Verdict:
    runs = [
        (number, FormRun(case, rank, facts))
        for number, case in enumerate(parallel_forms_cases(seed))
        for rank, facts in enumerate(facts_of(observation, number, case.world_size))
    ]
    for _, run in reversed(runs):  # the last setting accumulates, so k shows
        verdict = USE[form].judge(run)
        if verdict:
            return verdict
    for number, run in runs:
        tensors = tensors_of_rank(observation, number, run.rank)
        verdict = judge_rank(_reference(run.case), _own(run.case, run.rank), tensors, run.facts, run.case.world_size)
        if verdict:
            rows = ROWS.judge(run)
            verdict = rows or _name_cause(run.case, verdict, run.facts)
            return name_form(verdict, form, LOOK_AT)
        verdict = SENT[form].judge(run)
        if verdict:
            return verdict
    sent = ", ".join(f"{format_bytes(run.most_sent)} on each of {run.case.world_size} ranks" for _, run in runs[1:3])
    return Verdict(PASSED, "", f"the gradient of the whole batch at every update, all-reduced once: {sent}")


def _name_cause(case: ParallelFormsCase, verdict: Verdict, facts: Facts) -> Verdict:
    """Name what several ranks, or the Trainer's division, make of a verdict on a loop."""
    if verdict.measured.startswith(f"exactly {case.world_size * case.k} times"):
        return replace(verdict, code="summed_over_all" if case.k > 1 else "summed_over_ranks")
    return verdict


def _rows_of(case: ParallelFormsCase, rank: int, micro_batches: Sequence[int]) -> list[int]:
    starts = [(number * case.world_size + rank) * case.rows for number in micro_batches]
    return [start + offset for start in starts for offset in range(case.rows)]


@keep_cases
def _reference(case: ParallelFormsCase) -> Reference:
    return _make_reference(case, range(case.world_size))


@keep_cases
def _own(case: ParallelFormsCase, rank: int) -> Reference:
    return _make_reference(case, (rank,))


def _make_reference(case: ParallelFormsCase, ranks: Sequence[int]) -> Reference:
    model, dataset = case.make_model(), case.make_dataset()

    def loss(number: int) -> Tensor:
        rows = [index for rank in ranks for index in _rows_of(case, rank, (number,))]
        mean: Tensor = model(**{name: torch.as_tensor(values) for name, values in dataset[rows].items()}).loss
        return mean

    return Reference(case.updates * case.k, case.k, case.rows, LEARNING_RATE, partial(gradient_at, model, loss))


ROW_COUNT, SEEN_ROWS = "{case.rows} rows in a forward: a batch of {case.batch}, k = {case.k}", "{rows} rows"


def _sizes(form: str) -> tuple[Misconception[FormRun], ...]:
    """Return the misconceptions about the rows of a micro-batch."""
    texts = (
        (
            "batch_on_each_rank",
            "You give each forward the effective batch. It counts the rows of all ranks and of all k micro-batches: "
            "divide it by both.",
            lambda run: run.is_times(run.case.world_size * run.case.k),
        ),
        (
            "batch_not_divided_by_k",
            "You do not divide the batch by k. The k micro-batches of an update share its rows.",
            lambda run: run.is_times(run.case.k),
        ),
        (
            "batch_not_divided_by_ranks",
            "You do not divide the batch by the number of ranks. They share the rows of an update.",
            lambda run: run.is_times(run.case.world_size),
        ),
        (
            "default_rows",
            "You leave per_device_train_batch_size at the Trainer's default, 8. Give it the rows of one micro-batch.",
            lambda run: form == TRAINER and run.has_rows and run.rows == 8,
        ),
        (
            "other_rows",
            "You give each forward another number of rows. Divide batch by the ranks and by k.",
            lambda run: run.has_rows,
        ),
    )
    return tuple(
        Misconception(
            f"{form}_{code}", f"{text} (In the {form} form.)", shown_by=shown, expected=ROW_COUNT, measured=SEEN_ROWS
        )
        for code, text, shown in texts
    )


PREPARED = "model and optimizer prepared, and accelerator.backward for each micro-batch"
USE = {
    ACCELERATE: Table[FormRun](
        Misconception(
            "trainer_in_its_place",
            "You train with the Trainer. Write the loop, with Accelerate.",
            shown_by=lambda run: bool(run.calls["trainer"]),
            expected=PREPARED,
            measured="Trainer.train was called",
        ),
        Misconception(
            "accelerator_not_used",
            "You do not use Accelerate. Prepare model, optimizer and loader, and call accelerator.backward.",
            shown_by=lambda run: not run.calls["prepared"] and not run.calls["backward"],
            expected=PREPARED,
            measured="nothing prepared",
        ),
        Misconception(
            "model_not_prepared",
            "You do not prepare the model, so nobody averages its gradients. Give it to accelerator.prepare.",
            shown_by=lambda run: "model" not in run.calls["prepared"],
            expected=PREPARED,
            measured="no model prepared",
        ),
        Misconception(
            "optimizer_not_prepared",
            "You do not prepare the optimizer, so its steps do not wait for a group. Give it to accelerator.prepare.",
            shown_by=lambda run: "optimizer" not in run.calls["prepared"],
            expected=PREPARED,
            measured="no optimizer prepared",
        ),
        Misconception(
            "accelerator_backward_not_used",
            "You call loss.backward(), which bypasses Accelerate. Call accelerator.backward(loss).",
            shown_by=lambda run: len(run.calls["backward"]) < run.in_loop,
            expected=PREPARED,
            measured="{in_loop} forwards, and fewer calls of accelerator.backward",
        ),
        *_sizes(ACCELERATE),
    ),
    TRAINER: Table[FormRun](
        Misconception(
            "trainer_not_used",
            "You do not train with the Trainer. Trainer(...) prepares, and its .train() trains.",
            shown_by=lambda run: not run.in_trainer,
            expected="the forwards in Trainer.train",
            measured="none in it",
        ),
        Misconception(
            "forwards_outside_trainer",
            "You run the model yourself, too. The Trainer makes all forwards.",
            shown_by=lambda run: run.in_loop > 0,
            expected="all forwards in Trainer.train",
            measured="{in_loop} outside of it",
        ),
        *_sizes(TRAINER),
    ),
}
ROWS = Table[FormRun](
    Misconception(
        "same_rows_on_every_rank",
        "You run the same rows on every rank. A prepared loader, or the Trainer, shares them out.",
        shown_by=lambda run: run.share_seen * run.case.world_size > 1.5,
        expected="each row on one rank",
        measured="rank {rank} ran {share_seen:.0%} of the rows",
    ),
    Misconception(
        "rows_in_another_order",
        "You take the rows in another order. Do not shuffle.",
        shown_by=lambda run: max(run.first_rows, default=0) >= run.case.batch,
        expected="the first {case.batch} rows in update 1",
        measured="rows {first_rows} on rank {rank}",
    ),
)
ONCE, MORE = "{gradient_bytes} bytes of gradients for each update", "{most_sent} bytes"
SENT = {
    ACCELERATE: Table[FormRun](
        Misconception(
            "accelerate_accumulate_without_effect",
            "You enter accumulate without an effect. Give it the prepared model, and run the forward inside.",
            shown_by=lambda run: bool(run.calls["accumulate"]) and run.most_sent > run.gradient_bytes,
            expected=ONCE,
            measured=MORE,
        ),
        Misconception(
            "accelerate_synchronised_each_time",
            "You all-reduce in every backward, although one per update is enough. Enter accelerator.accumulate(model) "
            "or accelerator.no_sync(model) for all micro-batches but the last.",
            shown_by=lambda run: run.most_sent > run.gradient_bytes,
            expected=ONCE,
            measured=MORE,
        ),
    ),
    TRAINER: Table[FormRun](
        Misconception(
            "trainer_synchronised_each_time",
            "You all-reduce in every backward. The Trainer does it once per update if gradient_accumulation_steps is "
            "k.",
            shown_by=lambda run: run.most_sent > run.gradient_bytes,
            expected=ONCE,
            measured=MORE,
        ),
    ),
}
