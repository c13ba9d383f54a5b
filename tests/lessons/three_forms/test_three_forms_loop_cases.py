"""The cases of lesson 00's first exercises: their settings are as different as the exercises need."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.judging.equivalence import compare
from grader.judging.lessons.three_forms.loop_gradients import make_run
from grader.lessons.three_forms.defaults import defaults_cases
from grader.lessons.three_forms.loop import RunCase, raw_run_cases, repaired_run_cases

SEEDS = (0, 20_011)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize("seed", range(5))
def test_runs_have_one_two_three_and_many_updates_with_norms_on_both_sides_of_one(seed: int) -> None:
    cases = defaults_cases(seed)
    assert {1, 2, 3} < {case.updates for case in cases}
    for updates in (1, 2):
        assert {case.largest_gradient_norm > 1 for case in cases if case.updates == updates} == {True, False}
    assert min(abs(case.largest_gradient_norm - 1) for case in cases) < 0.1
    assert 1 not in {case.largest_gradient_norm for case in cases}


def test_another_seed_gives_other_runs() -> None:
    assert {case.largest_gradient_norm for case in defaults_cases(0)}.isdisjoint(
        case.largest_gradient_norm for case in defaults_cases(20_011)
    )


@pytest.mark.parametrize("seed", range(5))
def test_one_run_has_full_batches_one_a_short_last_one_and_one_a_single_update(seed: int) -> None:
    full, short, single = raw_run_cases(seed)
    assert full.pairs % full.rows == 0
    assert 0 < short.pairs % short.rows < short.rows
    assert single.updates_per_epoch == 1
    assert [case.pairs % case.rows > 0 for case in repaired_run_cases(seed)] == [False, True]


@pytest.mark.parametrize("seed", SEEDS)
def test_learning_rates_differ_from_run_to_run(seed: int) -> None:
    assert len({case.learning_rate for case in raw_run_cases(seed)}) == 3


def test_every_row_is_in_one_update_of_each_epoch() -> None:
    case = RunCase(11, 4, 2, 0)
    rows = [list(case.rows_of(update)) for update in range(2 * case.updates_per_epoch)]
    assert rows == 2 * [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_wrong_forward_and_a_clipping_show_in_the_gradients(seed: int) -> None:
    for cases in (raw_run_cases(seed), repaired_run_cases(seed)):
        norms = []
        for run in map(make_run, cases):
            start = nn.utils.parameters_to_vector(run.model.parameters()).detach().clone()
            gradients = [run.gradient(start, update) for update in range(run.updates)]
            norms += [float(gradient.norm()) for gradient in gradients]
            for column in ("attention_mask", "token_type_ids"):
                assert compare(run.without(start, 0, column), gradients[0]).relative_error > 1e-2
        assert max(norms) > 1.1


def test_dropout_is_off_so_that_both_modes_give_one_loss() -> None:
    run = make_run(raw_run_cases(0)[0])
    losses = [run.loss(0).item() for _ in (run.model.train(), run.model.eval())]
    assert losses[0] == losses[1]
