"""The cases of lesson 16 hold what its checks rely on."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.judging.lessons.local_sgd.evidence import Epoch
from grader.judging.lessons.local_sgd.methods import method_of
from grader.judging.lessons.local_sgd.synchronisations import TABLE
from grader.lessons.local_sgd.averaging import averaging_cases, vectors_of
from grader.lessons.local_sgd.epochs import MOMENTUM, SGD, epoch_cases
from grader.lessons.local_sgd.methods import (
    LAST_BITS,
    LAST_SHARED,
    NOTHING,
    PARAMETERS,
    RANK_TWO,
    REORDERED,
    MethodCase,
    method_cases,
)
from grader.lessons.local_sgd.synchronisations import synchronisations_cases

SEEDS = (0, 20011)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_can_differ_differs_and_nothing_else(seed: int) -> None:
    for case in averaging_cases(seed):
        first, second = (vectors_of(case.make_model(rank)) for rank in range(2))
        assert bool((first["trained"] != second["trained"]).all())
        assert torch.equal(first["frozen"], second["frozen"])
        if case.is_normalised:
            assert bool((first["statistics"] != second["statistics"]).all())
            assert not torch.equal(first["counts"], second["counts"])


@pytest.mark.parametrize("seed", SEEDS)
def test_settings_of_an_average_hold_its_traps(seed: int) -> None:
    cases = averaging_cases(seed)
    assert {case.world_size for case in cases} == {2, 3}
    assert any(case.is_tied for case in cases) and any(case.is_frozen for case in cases)
    for case in cases:
        model = case.make_model(0)
        names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
        assert len(names) - len(list(model.parameters())) == int(case.is_tied)


@pytest.mark.parametrize("seed", SEEDS)
def test_epochs_end_with_and_without_a_final_average(seed: int) -> None:
    first, whole, each, short, single = (Epoch(case, []) for case in epoch_cases(seed))
    assert first.updates % first.case.every and not whole.updates % whole.case.every
    assert each.case.every == 1 and short.case.micro_batches % short.case.k and single.updates < single.case.every
    for epoch in (first, whole):
        case = epoch.case
        counted = {-(-micro // case.k) for micro in range(case.every, case.micro_batches + 1, case.every)}
        assert counted != set(epoch.averages)
    assert first.case.k != first.case.world_size and first.case.micro_batches % first.case.k
    assert not short.updates % short.case.every and not single.case.micro_batches % single.case.every


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_to_predict_hold_every_trap(seed: int) -> None:
    runs = [
        (case, -(-case.micro_batches // case.k), TABLE.truths(seed)[number])
        for number, case in enumerate(synchronisations_cases(seed))
    ]
    assert {bool(updates % case.every) for case, updates, _ in runs} == {False, True}
    assert {truth["is_equal"] for case, updates, truth in runs if updates == 1 < case.every} == {False, True}
    shares = {case.micro_batches % case.k / case.k for case, _, _ in runs if case.every == 1}
    assert any(0 < share < 0.5 for share in shares) and any(share > 0.5 for share in shares)
    assert {case.optimizer for case, updates, truth in runs if truth["averages"] == 1 < updates} == {SGD, MOMENTUM}
    assert {case.optimizer for case, _, _ in runs if case.every == 1} == {case.optimizer for case, _, _ in runs}


def test_every_kind_of_training_is_there_in_an_order_of_the_seed() -> None:
    orders = {
        tuple((method_of(case), case.every, case.driver, case.difference, case.is_kept) for case in method_cases(seed))
        for seed in range(6)
    }
    assert len(orders) > 3
    assert len({frozenset(order) for order in orders}) == 1


def test_a_sum_of_three_equal_weights_over_three_may_round() -> None:
    weights = vectors_of(averaging_cases(0)[2].make_model(0))["frozen"]
    assert isinstance(averaging_cases(0)[2].make_model(0), nn.Module)
    assert not torch.equal((weights + weights + weights) / 3, weights)


@pytest.mark.parametrize("seed", SEEDS)
def test_running_statistics_differ_where_parameters_are_averaged(seed: int) -> None:
    cases = [case for case in method_cases(seed) if case.is_normalised]
    assert {case.world_size for case in cases} == {2, 3} and {method_of(case) for case in cases} == {PARAMETERS}
    for case in cases:
        models = [case.make_model() for _ in range(2)]
        for rank, model in enumerate(models):
            case.loss(model, rank, 1)
        first, second = (torch.cat([one.flatten() for one in model.buffers()]) for model in models)
        assert not torch.equal(first, second)


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_that_never_talk_differ_in_their_last_bits_only(seed: int) -> None:
    case = next(case for case in method_cases(seed) if (method_of(case), case.difference) == (NOTHING, LAST_BITS))
    first, second = (_trained_alone(case, rank) for rank in range(2))
    assert not torch.equal(first, second) and torch.allclose(first, second)


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_differ_as_the_cases_say(seed: int) -> None:
    for case in method_cases(seed):
        first, second = ([_slopes(case, rank, update) for update in range(case.updates)] for rank in (0, 1))
        same = [all(map(torch.equal, one, two)) for one, two in zip(first, second, strict=True)]
        if case.difference == LAST_SHARED:
            assert same[-1] and not any(same[:-1])
        if case.difference == REORDERED:
            assert not any(same)
            assert all(one.sum() == two.sum() for one, two in zip(first[0], second[0], strict=True))
        if case.difference == RANK_TWO:
            assert all(same) and not torch.equal(first[0][0], _slopes(case, 2, 0)[0])


def _slopes(case: MethodCase, rank: int, update: int) -> list[torch.Tensor]:
    return case.slopes([one.shape for one in case.make_model().parameters()], rank, update)


def _trained_alone(case: MethodCase, rank: int) -> torch.Tensor:
    model = case.make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for update in range(case.updates):
        optimizer.zero_grad()
        case.loss(model, rank, update).backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()
