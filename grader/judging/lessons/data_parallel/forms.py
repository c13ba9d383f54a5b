"""Verdicts on the Accelerate and the Trainer form on several ranks: equal to one process with the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

import torch
from torch import Tensor

from grader.judging.forms import TRAINER_DEFAULTS, count, judge_models, name_form
from grader.judging.lessons.data_parallel.accumulation import judge_rank
from grader.judging.lessons.data_parallel.reports import Facts, all_reduces, facts_of, tensors_of_rank
from grader.judging.updates import Reference
from grader.judging.vectors import gradient_at
from grader.lessons.data_parallel.forms import ParallelFormsCase, parallel_forms_cases
from grader.lessons.data_parallel.hooks import LEARNING_RATE
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LOOK_AT = TRAINER_DEFAULTS | {
    "accelerate_gradient_not_averaged": "who divides by k: accelerator.backward(loss) does, loss.backward() does not",
    "accelerate_divided_by_one": (
        "accelerator.backward divides by gradient_accumulation_steps, which is 1 here: who divides by k?"
    ),
    "accelerate_gradient_divided_twice": "accelerator.backward divides by k already: who divides again?",
    "accelerate_update_every_micro_batch": "accelerator.prepare: only a prepared optimizer waits for its group",
    "accelerate_accumulate_not_used": "where accelerator.accumulate(model) stands: it makes k micro-batches one update",
    "accelerate_without_steps": "gradient_accumulation_steps of the Accelerator",
    "accelerate_cleared_within_group": "zero_grad(): only the prepared optimizer's waits for the end of a group",
    "accelerate_ranks_not_averaged": "what accelerator.prepare returns: is it that model which is called?",
    "trainer_gradient_not_averaged": "who divides: set accepts_loss_kwargs = False on this model, before Trainer(...)",
    "trainer_summed_over_ranks": "who divides: set accepts_loss_kwargs = False on this model, before Trainer(...)",
    "trainer_summed_over_all": "who divides: set accepts_loss_kwargs = False on this model, before Trainer(...)",
}


def judge_data_parallel_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form: used as taught, and equal to one process."""
    return _judge(observation, seed, "accelerate")


def judge_data_parallel_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form: used as taught, and equal to one process."""
    return _judge(observation, seed, "trainer")


def _judge(observation: Observation, seed: int, form: str) -> Verdict:
    cases = parallel_forms_cases(seed)
    for judge in (_judge_use, _judge_size):
        for number, case in reversed(list(enumerate(cases))):  # the last one accumulates, so k shows
            for facts in facts_of(observation, number, case.world_size):
                verdict = judge(case, facts, form)
                if verdict:
                    return verdict
    for number, case in enumerate(cases):
        for rank, facts in enumerate(facts_of(observation, number, case.world_size)):
            tensors = tensors_of_rank(observation, number, rank)
            verdict = _judge_rows(case, rank, facts, form)
            if verdict:
                return verdict
            own = _own(case, rank)
            verdict = judge_rank(_reference(case), own, tensors, facts, case.world_size)
            if verdict:
                return name_form(_name_cause(case, verdict, facts), form, LOOK_AT)
            verdict = _judge_traffic(case, facts, form)
            if verdict:
                return verdict
    updates = sum(case.updates for case in cases)
    measured = f"{updates} updates on 2 and 3 ranks, each with the gradient of its whole batch"
    return Verdict(PASSED, "the gradient of the whole batch at every update", measured)


def _judge_use(case: ParallelFormsCase, facts: Facts, form: str) -> Verdict | None:
    calls, forwards = facts["library"], case.updates * case.k
    if form == "trainer":
        if not calls["trainer"]:
            look_at = "the Trainer form: Trainer(...) prepares, and its .train() trains. Are both there?"
            return Verdict("trainer_not_used", "one Trainer.train", "Trainer.train was not called", look_at)
        return judge_models(forwards, facts, calls, is_in_trainer=True)
    expected = "model, optimizer and loader prepared, and accelerator.backward for each micro-batch"
    if not calls["prepared"] and not calls["backward"]:
        return Verdict("accelerator_not_used", expected, "nothing prepared", "which lines Accelerate takes over")
    for name in ("model", "optimizer", "loader"):
        if name not in calls["prepared"]:
            return Verdict(f"{name}_not_prepared", expected, f"no {name} prepared", "what accelerator.prepare is given")
    verdict = judge_models(forwards, facts, calls, is_in_trainer=False)
    in_loop = len(facts["forward_rows"]) - sum(calls["forwards_in_trainer"])
    if verdict is None and len(calls["backward"]) < in_loop:
        measured = f"{count(in_loop, 'forward')}, and {count(len(calls['backward']), 'call')} of accelerator.backward"
        return Verdict("accelerator_backward_not_used", expected, measured, "loss.backward() does not ask Accelerate")
    return verdict


def _judge_size(case: ParallelFormsCase, facts: Facts, form: str) -> Verdict | None:
    """Judge the rows of a micro-batch on one rank."""
    seen: Sequence[int] = facts["forward_rows"]
    if not seen or seen[0] == case.rows:
        return None
    expected = f"{case.rows} rows in a forward: a batch of {case.batch} on {case.world_size} ranks, k = {case.k}"
    known = (
        (
            case.batch,
            "batch_on_each_rank",
            "the effective batch counts the rows of all ranks, and of all k micro-batches",
        ),
        (case.rows * case.k, "batch_not_divided_by_k", "the k micro-batches of an update share its rows"),
        (case.rows * case.world_size, "batch_not_divided_by_ranks", "the ranks share the rows of an update"),
        (8, "default_rows", "per_device_train_batch_size: the Trainer's default is 8"),
    )
    for rows, code, look_at in known:
        if seen[0] == rows:
            return Verdict(f"{form}_{code}", expected, count(seen[0], "row"), look_at)
    return Verdict(f"{form}_other_rows", expected, count(seen[0], "row"), "batch, ranks and k: which divides what?")


def _judge_rows(case: ParallelFormsCase, rank: int, facts: Facts, form: str) -> Verdict | None:
    """Judge which rows of the data a rank saw in its first update; rows that are alike count as one."""
    alike = _alike(case)
    first = [index for rows in facts["seen"][: case.k] for index in rows]
    wanted = [alike[index] for index in _rows_of(case, rank, range(case.k))]
    if sorted(first) == sorted(wanted):
        return None
    expected = f"rows {', '.join(map(str, wanted))} in update 1 of rank {rank}"
    measured = f"rows {', '.join(map(str, first))}"
    if sorted(first) == sorted(alike[: len(first)]):
        look_at = "the same rows on every rank: what shares them out?"
        return Verdict(f"{form}_same_rows_on_every_rank", expected, measured, look_at)
    look_at = LOOK_AT["trainer_rows_in_another_order"] if form == "trainer" else "shuffle: the rows are taken in order"
    return Verdict(f"{form}_rows_in_another_order", expected, measured, look_at)


def _judge_traffic(case: ParallelFormsCase, facts: Facts, form: str) -> Verdict | None:
    gradient_bytes = sum(parameter.nbytes for parameter in case.make_model().parameters())
    for update, calls in enumerate(facts["calls"][: case.updates]):
        large = [one for one in all_reduces(calls) if one > gradient_bytes // 10]
        if sum(large) > gradient_bytes:
            expected = f"the gradients all-reduced once for each update, {gradient_bytes:,} bytes"
            measured = f"{sum(large):,} bytes for update {update + 1}"
            code, look_at = _explain_traffic(facts, form)
            return Verdict(f"{form}_{code}", expected, measured, look_at)
    return None


def _explain_traffic(facts: Facts, form: str) -> tuple[str, str]:
    """Explain gradients that were all-reduced more than once for an update."""
    if form == "accelerate" and facts["library"]["accumulate"]:
        look_at = "accumulate is entered: is the prepared model its argument, and does the forward stand inside?"
        return "accumulate_without_effect", look_at
    look_at = "without accumulate(model) or no_sync(model), every backward of the prepared model all-reduces"
    if form == "trainer":
        look_at = "gradient_accumulation_steps: the Trainer's own loop all-reduces once for so many micro-batches"
    return "synchronised_each_time", look_at


def _name_cause(case: ParallelFormsCase, verdict: Verdict, facts: Facts) -> Verdict:
    """Name what several ranks, or accumulate, make of a verdict on a loop."""
    if verdict.code == "update_every_micro_batch" and not facts["library"]["accumulate"]:
        return replace(verdict, code="accumulate_not_used")
    if verdict.code == "update_every_micro_batch" and facts["library"]["accumulate"][0] != case.k:
        return replace(verdict, code="without_steps")
    backwards: Sequence[int] = facts["library"]["backward"]
    if verdict.code == "gradient_not_averaged" and backwards and set(backwards) == {1}:
        return replace(verdict, code="divided_by_one")
    if verdict.measured.startswith(f"exactly {case.world_size * case.k} times"):
        return replace(verdict, code="summed_over_all" if case.k > 1 else "summed_over_ranks")
    return verdict


def _rows_of(case: ParallelFormsCase, rank: int, micro_batches: Sequence[int]) -> list[int]:
    starts = [(number * case.world_size + rank) * case.rows for number in micro_batches]
    return [start + offset for start in starts for offset in range(case.rows)]


@lru_cache(maxsize=4)
def _alike(case: ParallelFormsCase) -> list[int]:
    """Return for each row the first row with the same tokens."""
    rows = [tuple(tokens) for tokens in case.make_dataset()["input_ids"]]
    return [rows.index(row) for row in rows]


@lru_cache(maxsize=4)
def _reference(case: ParallelFormsCase) -> Reference:
    return _make_reference(case, range(case.world_size))


@lru_cache(maxsize=8)
def _own(case: ParallelFormsCase, rank: int) -> Reference:
    return _make_reference(case, (rank,))


def _make_reference(case: ParallelFormsCase, ranks: Sequence[int]) -> Reference:
    model, dataset = case.make_model(), case.make_dataset()

    def loss(number: int) -> Tensor:
        rows = [index for rank in ranks for index in _rows_of(case, rank, (number,))]
        mean: Tensor = model(**{name: torch.as_tensor(values) for name, values in dataset[rows].items()}).loss
        return mean

    return Reference(case.updates * case.k, case.k, case.rows, LEARNING_RATE, partial(gradient_at, model, loss))
