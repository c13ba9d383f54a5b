"""The cases of both forms and of the relative distance are what they are said to be."""

import pytest
import torch

from grader.judging.lessons.three_forms.loop_gradients import make_run
from grader.lessons.three_forms.distance import distance_cases, equal_case, unmoved_cases, untrained_case
from grader.lessons.three_forms.forms import forms_cases

SEEDS = (0, 20_011)


def same_weights(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    return all(torch.equal(p, q) for p, q in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_three_models_differ_where_a_distance_is_asked_for(seed):
    for case in distance_cases(seed):
        model, reference, start = case.make_models()
        for one, other in ((model, reference), (reference, start), (model, start)):
            assert all(not torch.equal(p, q) for p, q in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_movement_is_so_small_that_a_comparison_with_a_tolerance_does_not_see_it(seed):
    _, reference, start = distance_cases(seed)[2].make_models()
    assert all(torch.allclose(p, q) for p, q in zip(reference.parameters(), start.parameters(), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_edges_have_equal_weights_and_unequal_buffers(seed):
    model, reference, _ = equal_case(seed).make_models()
    assert same_weights(model, reference)
    assert not torch.equal(model[1].running_mean, reference[1].running_mean)
    model, reference, start = untrained_case(seed).make_models()
    assert same_weights(model, start)
    assert not same_weights(reference, start)
    moved, still = unmoved_cases(seed)
    for case, is_model_equal in ((moved, False), (still, True)):
        model, reference, start = case.make_models()
        assert same_weights(reference, start)
        assert same_weights(model, reference) == is_model_equal


def test_models_hold_a_frozen_parameter_and_leave_the_random_numbers_alone():
    state = torch.random.get_rng_state()
    for case in distance_cases(0):
        assert {p.requires_grad for each in case.make_models() for p in each.parameters()} == {True, False}
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_run_has_full_batches_and_one_has_two_epochs_and_a_short_last_batch(seed):
    full, short = forms_cases(seed)
    assert (full.epochs, short.epochs) == (1, 2)
    assert full.pairs % full.rows == 0
    assert short.pairs % short.rows > 0
    assert full.learning_rate != short.learning_rate
    assert [len(case.make_dataset()) for case in (full, short)] == [full.pairs, short.pairs]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clipping_to_norm_1_shows_at_some_update(seed):
    norms = []
    for case in forms_cases(seed):
        run = make_run(case)
        weights = torch.nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
        for update in range(run.updates):
            gradient = run.gradient(weights, update)
            norms.append(float(gradient.norm()))
            weights = weights - case.learning_rate * gradient
    assert max(norms) > 1.1


def test_no_default_of_the_trainer_is_right_by_chance():
    for seed in range(40):
        for case in forms_cases(seed):
            assert case.rows != 8
            assert case.epochs != 3
            assert case.learning_rate > 5e-5
