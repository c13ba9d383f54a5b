"""A run with Accelerate and one with the Trainer: each misconception is named, without a library."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.judging.lessons.three_forms.forms import LOOK_AT, judge_accelerate_run, judge_trainer_run
from grader.judging.lessons.three_forms.loop_gradients import Run, make_run
from grader.lessons.three_forms.forms import forms_cases
from grader.lessons.three_forms.loop import RunCase
from grader.observation import Observation
from grader.verdict import Verdict

SEEDS = (0, 20011)

Batches = Callable[[RunCase], list[list[int]]]  # which rows each forward sees
Move = Callable[[Run, int, Tensor, Tensor], Tensor]  # of run, update, weights, gradient
Facts = dict[str, Any]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def right_batches(case: RunCase) -> list[list[int]]:
    return [list(case.rows_of(update)) for update in range(case.updates_per_epoch * case.epochs)]


def in_batches_of(rows: int, epochs: int, case: RunCase) -> list[list[int]]:
    starts = range(0, case.pairs, rows)
    return [list(range(start, min(start + rows, case.pairs))) for start in starts] * epochs


def shuffled(case: RunCase) -> list[list[int]]:
    order = torch.randperm(case.pairs, generator=torch.Generator().manual_seed(3)).tolist()
    return [[order[row] for row in batch] for batch in right_batches(case)]


def descend(run: Run, update: int, weights: Tensor, gradient: Tensor) -> Tensor:
    return weights - run.case.learning_rate * gradient


@lru_cache
def run_of(case: RunCase) -> Run:
    return make_run(case)


def gradient_of(run: Run, rows: list[int], weights: Tensor) -> Tensor:
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(weights, run.model.parameters())
    gradients = torch.autograd.grad(run.model(**run.dataset[rows]).loss, list(run.model.parameters()))
    return torch.cat([gradient.flatten() for gradient in gradients])


def train(
    case: RunCase, batches: Batches, change: Callable[[Tensor], Tensor], move: Move
) -> tuple[Facts, dict[str, Tensor]]:
    """Facts and tensors of a run on some batches, with a changed gradient and a movement of its own."""
    run, tensors = run_of(case), {}
    weights = torch.nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
    seen = batches(case)
    for update, rows in enumerate(seen):
        gradient = change(gradient_of(run, rows, weights))
        tensors |= {f"gradient.{update}": gradient, f"weights.{update}": weights}
        weights = move(run, update, weights, gradient)
    tensors[f"weights.{len(seen)}"] = weights
    facts = {"events": ["forward", "backward", "update"] * len(seen), "forward_rows": [len(rows) for rows in seen]}
    return facts | {"is_training": [True] * len(seen), "is_autocast": [False] * len(seen)}, tensors


def used(form: str, facts: Facts) -> Facts:
    """How the libraries are used by a right answer whose watched model is that of `form`."""
    forwards = len(facts["forward_rows"])
    prepared = {
        "prepared": ["model", "optimizer", "loader"],
        "used": ["loader", "optimizer"],
        "backward": [1] * forwards,
    }
    return prepared | {"trainer": [1], "forwards_in_trainer": [forwards if form == "trainer" else 0]}


def judge(
    form: str,
    seed: int,
    batches: Batches = right_batches,
    change: Callable[[Tensor], Tensor] = lambda gradient: gradient,
    move: Move = descend,
    **calls: list[Any],
) -> Verdict:
    settings, tensors = [], {}
    for index, case in enumerate(forms_cases(seed)):
        facts, own = train(case, batches, change, move)
        settings.append(facts)
        tensors |= {f"{index}.{name}": value for name, value in own.items()}
    observation = Observation(
        {"settings": settings, "calls": [used(form, facts) | calls for facts in settings]}, tensors
    )
    return (judge_trainer_run if form == "trainer" else judge_accelerate_run)(observation, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ["accelerate", "trainer"])
def test_the_raw_loop_in_either_form_passes_and_shows_how_near_it_ends(form: str, seed: int) -> None:
    verdict = judge(form, seed)
    assert verdict.is_passed
    assert "of their movement from the raw loop" in verdict.measured


def clipped(gradient: Tensor) -> Tensor:
    return gradient / max(1.0, float(gradient.norm()))


BATCHES: dict[str, Batches] = {
    "rows_in_another_order": shuffled,
    "epoch_repeated": lambda case: right_batches(case) * 3,
    "epochs_missing": lambda case: in_batches_of(case.rows, 1, case),
    "other_batch_size": lambda case: in_batches_of(8, case.epochs, case),
    "last_batch_dropped": lambda case: [rows for rows in right_batches(case) if len(rows) == case.rows],
    "ended_early": lambda case: right_batches(case)[: case.pairs // case.rows * case.epochs],
    "one_row_at_a_time": lambda case: in_batches_of(1, case.epochs, case),
    "other_forwards": lambda case: [list(range(case.rows))] * 19,
}

MOVES: dict[str, Move] = {
    "learning_rate_changed": lambda run, update, weights, gradient: (
        weights - run.case.learning_rate * (1 - update / run.updates) * gradient
    ),
    "other_learning_rate": lambda run, update, weights, gradient: weights - 5e-5 * gradient,
    "another_optimizer": lambda run, update, weights, gradient: weights - run.case.learning_rate * gradient.sign(),
    "weight_decay": lambda run, update, weights, gradient: (
        weights - run.case.learning_rate * (gradient + 0.01 * weights * (torch.arange(len(weights)) % 3 > 0))
    ),
}


@pytest.mark.parametrize("form", ["accelerate", "trainer"])
@pytest.mark.parametrize("code", BATCHES)
def test_other_batches_are_named(code: str, form: str) -> None:
    assert judge(form, 20011, batches=BATCHES[code]).code == f"{form}_{code}"


@pytest.mark.parametrize("code", MOVES)
def test_other_movements_are_named(code: str) -> None:
    verdict = judge("trainer", 20011, move=MOVES[code])
    assert (verdict.code, verdict.look_at) == (f"trainer_{code}", LOOK_AT[f"trainer_{code}"])


def test_a_clipping_and_a_factor_are_named() -> None:
    assert judge("accelerate", 20011, change=clipped).code == "accelerate_gradient_clipped"
    assert judge("trainer", 0, change=lambda gradient: 65_536 * gradient).code == "trainer_gradient_scaled"


def test_a_first_update_that_moves_nothing_is_a_warm_up() -> None:
    def warm_up(run: Run, update: int, weights: Tensor, gradient: Tensor) -> Tensor:
        return weights - min(1, update / 2) * run.case.learning_rate * gradient

    assert judge("trainer", 0, move=warm_up).code == "trainer_warmed_up"


@pytest.mark.parametrize(("form", "code"), [("accelerate", "model_untouched"), ("trainer", "trainer_model_untouched")])
def test_a_model_that_is_never_called_is_named(form: str, code: str) -> None:
    assert judge(form, 0, lambda case: [], backward=[]).code == code


USAGES = [
    ("accelerate", {"backward": [1]}, "accelerator_backward_not_used"),
    ("accelerate", {"used": ["optimizer"]}, "prepared_loader_not_used"),
    ("accelerate", {"forwards_in_trainer": [2]}, "trainer_used_instead"),
    ("accelerate", {"prepared": [], "backward": []}, "accelerator_not_used"),
    ("trainer", {"trainer": [4]}, "trainer_accumulates"),
    ("trainer", {"trainer": []}, "trainer_not_used"),
    ("trainer", {"forwards_in_trainer": [2]}, "loop_used_instead"),
]


@pytest.mark.parametrize(("form", "calls", "code"), USAGES)
def test_a_form_that_is_not_used_as_asked_is_named_before_any_number(form: str, calls: Facts, code: str) -> None:
    def four_batches(case: RunCase) -> list[list[int]]:
        return right_batches(case)[:4]

    assert judge(form, 0, four_batches, **calls).code == code
