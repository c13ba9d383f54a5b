"""Judges the Accelerate and the Trainer form on several ranks: equal to one process with the whole batch."""

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

NOT_DIVIDED = (
    "You leave a gradient that nobody divides by {}: the Trainer expects this model to do it. "
    "Set accepts_loss_kwargs = False on it, before Trainer(...)."
)
LOOK_AT = TRAINER_DEFAULTS | {
    "accelerate_gradient_not_averaged": (
        "You do not divide by k. Call accelerator.backward(loss), which does; loss.backward() does not."
    ),
    "accelerate_divided_by_one": (
        "You leave gradient_accumulation_steps at 1, so accelerator.backward does not divide by k. Give it to the "
        "Accelerator."
    ),
    "accelerate_gradient_divided_twice": "You divide by k, but accelerator.backward does so already.",
    "accelerate_update_every_micro_batch": (
        "You step with an optimizer that is not prepared. Only the one that accelerator.prepare returns "
        "waits for its group."
    ),
    "accelerate_accumulate_not_used": (
        "You do not use accelerator.accumulate(model). It makes k micro-batches one update: enter it for each of them."
    ),
    "accelerate_without_steps": (
        "You do not give the Accelerator gradient_accumulation_steps=k, so every micro-batch makes an update."
    ),
    "accelerate_cleared_within_group": (
        "You clear the gradients within a group. Call zero_grad() of the prepared optimizer, which waits "
        "for the end of the group."
    ),
    "accelerate_ranks_not_averaged": (
        "You call a model that is not prepared, so its gradients stay on their rank. Call what "
        "accelerator.prepare returns."
    ),
    "trainer_gradient_not_averaged": NOT_DIVIDED.format("k"),
    "trainer_summed_over_ranks": NOT_DIVIDED.format("the number of ranks"),
    "trainer_summed_over_all": NOT_DIVIDED.format("k and the number of ranks"),
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
            look_at = "You do not train with the Trainer. Trainer(...) prepares, and its .train() trains."
            return Verdict("trainer_not_used", "one Trainer.train", "Trainer.train was not called", look_at)
        return judge_models(forwards, facts, calls, is_in_trainer=True)
    expected = "model, optimizer and loader prepared, and accelerator.backward for each micro-batch"
    if not calls["prepared"] and not calls["backward"]:
        return Verdict(
            "accelerator_not_used",
            expected,
            "nothing prepared",
            "You do not use Accelerate. Prepare model, optimizer and loader, and call accelerator.backward.",
        )
    for name in ("model", "optimizer", "loader"):
        if name not in calls["prepared"]:
            return Verdict(
                f"{name}_not_prepared",
                expected,
                f"no {name} prepared",
                f"You do not prepare the {name}. Give it to accelerator.prepare.",
            )
    verdict = judge_models(forwards, facts, calls, is_in_trainer=False)
    in_loop = len(facts["forward_rows"]) - sum(calls["forwards_in_trainer"])
    if verdict is None and len(calls["backward"]) < in_loop:
        measured = f"{count(in_loop, 'forward')}, and {count(len(calls['backward']), 'call')} of accelerator.backward"
        return Verdict(
            "accelerator_backward_not_used",
            expected,
            measured,
            "You call loss.backward(), which bypasses Accelerate. Call accelerator.backward(loss).",
        )
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
            "You give each forward the effective batch. It counts the rows of all ranks, and of all "
            "k micro-batches: divide it by both.",
        ),
        (
            case.rows * case.k,
            "batch_not_divided_by_k",
            "You do not divide the batch by k. The k micro-batches of an update share its rows.",
        ),
        (
            case.rows * case.world_size,
            "batch_not_divided_by_ranks",
            "You do not divide the batch by the number of ranks. They share the rows of an update.",
        ),
        (
            8,
            "default_rows",
            "You leave per_device_train_batch_size at the Trainer's default, 8. Give it the rows of one micro-batch.",
        ),
    )
    other = ("other_rows", "You give each forward another number of rows. Divide batch by the ranks and by k.")
    code, look_at = next(((code, look_at) for rows, code, look_at in known if seen[0] == rows), other)
    return Verdict(f"{form}_{code}", expected, count(seen[0], "row"), f"{look_at} (In the {form} form.)")


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
        look_at = "You run the same rows on every rank. A prepared loader, or the Trainer, shares them out."
        return Verdict(f"{form}_same_rows_on_every_rank", expected, measured, look_at)
    look_at = (
        LOOK_AT["trainer_rows_in_another_order"]
        if form == "trainer"
        else "You take the rows in another order. Do not shuffle."
    )
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
        look_at = "You enter accumulate without an effect. Give it the prepared model, and run the forward inside."
        return "accumulate_without_effect", look_at
    look_at = "You all-reduce in every backward. Enter accelerator.accumulate(model) for each micro-batch."
    if form == "trainer":
        look_at = (
            "You all-reduce in every backward. The Trainer does it once per update if gradient_accumulation_steps is k."
        )
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
