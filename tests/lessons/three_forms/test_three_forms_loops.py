"""The loops of lesson 00: each misconception is recognised, without a learner's loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from loop_runs import (
    SEEDS,
    Facts,
    Gradient,
    Tensors,
    descend,
    facts_of,
    losses_of,
    right,
    run_of,
    start_of,
    train,
)
from torch import Tensor

from grader.judging.lessons.three_forms.loop import judge_raw_updates, judge_repaired_loop, judge_run
from grader.judging.lessons.three_forms.loop_gradients import Run, make_run
from grader.judging.vectors import gradient_at
from grader.lessons.three_forms.loop import raw_run_cases, repaired_run_cases
from grader.observation import Observation


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def named(run: Run, tensors: Tensors, facts: Facts | None = None) -> str:
    verdict = judge_run(facts or facts_of(run.case), tensors, run)
    return verdict.code if verdict else "passed"


# Gradients


def times(factor: Callable[[Run, Tensor, int], float]) -> Gradient:
    return lambda run, weights, update: factor(run, weights, update) * right(run, weights, update)


def of_rows(shares: Callable[[Run, int], dict[int, float]]) -> Gradient:
    """The gradient of a weighted sum of the losses of rows."""

    def gradient(run: Run, weights: Tensor, update: int) -> Tensor:
        def loss(number: int) -> Tensor:
            losses = [share * run.model(**run.dataset[[row]]).loss for row, share in shares(run, number).items()]
            return torch.stack(losses).sum()

        return gradient_at(run.model, loss, weights, update)

    return gradient


def columns_mixed_up(run: Run, weights: Tensor, update: int) -> Tensor:
    def loss(number: int) -> Tensor:
        batch = run.batch(number)
        columns = batch["input_ids"], batch["token_type_ids"], batch["attention_mask"]
        return run.model(*columns, labels=batch["labels"]).loss

    return gradient_at(run.model, loss, weights, update)


def logits_mean(run: Run, weights: Tensor, update: int) -> Tensor:
    return gradient_at(run.model, lambda number: run.model(**run.batch(number)).logits.mean(), weights, update)


def noise(run: Run, weights: Tensor) -> Tensor:
    return torch.randn(weights.shape, generator=torch.Generator().manual_seed(run.case.seed))


def next_rows(run: Run, update: int) -> dict[int, float]:
    rows = run.case.rows_of(update)
    return {(row + 1) % run.case.pairs: 1 / len(rows) for row in rows}


def rounded(run: Run, weights: Tensor, update: int) -> Tensor:
    gradient = right(run, weights, update)
    return gradient + 0.01 * float(gradient.norm() / noise(run, weights).norm()) * noise(run, weights)


GRADIENTS: dict[str, Gradient] = {
    "passed": right,
    "padding_attended": lambda r, w, u: r.without(w, u, "attention_mask"),
    "token_types_left_out": lambda r, w, u: r.without(w, u, "token_type_ids"),
    "only_tokens_handed_over": lambda r, w, u: r.without(w, u, "attention_mask", "token_type_ids"),
    "columns_mixed_up": columns_mixed_up,
    "logits_for_loss": logits_mean,
    "loss_summed_over_rows": times(lambda r, w, u: len(r.case.rows_of(u))),
    "loss_divided_by_rows": times(lambda r, w, u: 1 / len(r.case.rows_of(u))),
    "backward_twice": times(lambda r, w, u: 2),
    "gradient_scaled": times(lambda r, w, u: 65_536),
    "divided_by_another_number": times(lambda r, w, u: 1 / 11),
    "gradient_clipped": times(lambda r, w, u: 1 / float(right(r, w, u).norm())),
    "cleared_before_update": times(lambda r, w, u: 0),
    "gradient_not_finite": times(lambda r, w, u: float("nan")),
    "gradient_rounded": rounded,
    "other_gradient": lambda r, w, u: noise(r, w),
    "first_batch_again": lambda r, w, u: right(r, w, 0),
    "rows_in_another_order": of_rows(next_rows),
    "rows_weighed_unequally": of_rows(lambda r, u: {row: 1 / (row + 2) for row in r.case.rows_of(u)}),
    "part_of_the_gradient_missing": lambda r, w, u: right(r, w, u) * (torch.arange(len(w)) > 5000),
}


@pytest.mark.parametrize("code", GRADIENTS)
def test_every_wrong_gradient_is_named_without_the_word_micro_batch(code: str) -> None:
    run = run_of(20011, 1)
    verdict = judge_run(facts_of(run.case), train(run, GRADIENTS[code]), run)
    assert (verdict.code if verdict else "passed") == code
    assert verdict is None or "micro" not in f"{verdict.expected} {verdict.measured} {verdict.look_at}"


def test_a_gradient_that_is_not_cleared_is_named() -> None:
    run, seen = run_of(0, 0), []

    def kept(run: Run, weights: Tensor, update: int) -> Tensor:
        seen.append(right(run, weights, update) + (seen[-1] if seen else 0))
        return seen[-1]

    assert named(run, train(run, kept)) == "gradient_not_cleared"


def test_a_loss_divided_by_the_number_of_batches_is_named() -> None:
    run = run_of(0, 0)
    assert named(run, train(run, times(lambda r, w, u: 1 / r.updates))) == "loss_divided_by_batches"


# Weights

MOVES: dict[str, Callable[..., Tensor]] = {
    "other_learning_rate": lambda r, w, u, g: descend(r, w, u, 0.1 * g),
    "learning_rate_changed": lambda r, w, u, g: descend(r, w, u, g * (1 - u / r.updates)),
    "another_optimizer": lambda r, w, u, g: descend(r, w, u, g.sign()),
    "weight_decay": lambda r, w, u, g: descend(r, w, u, g + 0.01 * w),
    "part_of_the_weights_left_out": lambda r, w, u, g: descend(r, w, u, g * (torch.arange(len(w)) > 5000)),
}


@pytest.mark.parametrize("code", MOVES)
def test_every_wrong_movement_is_named(code: str) -> None:
    run = run_of(20011, 1)
    assert named(run, train(run, move=MOVES[code])) == code


def test_momentum_is_distinguished_from_other_optimizers() -> None:
    run = run_of(20011, 1)
    assert named(run, train(run, kept=0.9)) == "momentum"


@pytest.mark.parametrize(
    ("events", "is_moved", "code"),
    [
        (("forward",), False, "forwards_only"),
        (("forward", "backward"), False, "no_update"),
        (("forward", "backward"), True, "optimizer_not_used"),
        (("forward", "backward", "update"), True, "optimizer_not_used"),
        (("forward", "update"), False, "no_backward"),
    ],
)
def test_who_moves_the_weights_is_named(events: Sequence[str], is_moved: bool, code: str) -> None:
    run = run_of(0, 0)
    weights = start_of(run.case) + 0.01 * is_moved
    tensors = {"weights.0": weights, "weights.1": weights, "gradient.0": torch.zeros_like(weights)}
    assert named(run, tensors, facts_of(run.case, events)) == code


# Whole observations


def observe(runs: Sequence[Run], gradient: Gradient = right, *, is_training: bool = True) -> Observation:
    settings, tensors = [], {}
    for index, run in enumerate(runs):
        own = train(run, gradient)
        facts = facts_of(run.case) | {"is_training": [is_training] * run.updates}
        settings.append(facts | {"losses": losses_of(run, own)})
        tensors |= {f"{index}.{name}": value for name, value in own.items()}
    return Observation({"settings": settings}, tensors)


@pytest.mark.parametrize("seed", SEEDS)
def test_right_runs_pass_with_their_numbers_of_updates(seed: int) -> None:
    for cases, judge in ((raw_run_cases, judge_raw_updates), (repaired_run_cases, judge_repaired_loop)):
        runs = [make_run(case) for case in cases(seed)]
        verdict = judge(observe(runs), seed)
        assert verdict.is_passed, verdict
        assert f"{sum(run.updates for run in runs)} updates" in verdict.measured


def test_the_published_loop_is_distinguished_from_each_fault_that_remains() -> None:
    seed = 20011
    runs = [make_run(case) for case in repaired_run_cases(seed)]
    judge = partial(judge_repaired_loop, seed=seed)
    published = GRADIENTS["only_tokens_handed_over"]
    assert judge(observe(runs, published, is_training=False)).code == "published_loop"
    assert judge(observe(runs, is_training=False)).code == "eval_mode"
    for code in ("padding_attended", "token_types_left_out", "only_tokens_handed_over"):
        assert judge(observe(runs, GRADIENTS[code])).code == code
