"""The cases of the predicted and of the extrapolated peak are what the lesson says of them."""

import pytest

from grader.judging.lessons.where_memory_goes.extrapolation import extrapolate
from grader.judging.lessons.where_memory_goes.step_sizes import BACKWARD, UPDATE, bytes_of
from grader.lessons.where_memory_goes.extrapolation import BERT_LARGE, extrapolation_cases
from grader.lessons.where_memory_goes.step_peak import step_cases
from grader.meters.forecast import forecast_peak_memory
from grader.meters.measurement import measure_peak_memory
from grader.testbed.bert_large_recipes import bert_large_recipe

SEEDS = (0, 20_011)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_formula_is_the_forecast_peak_to_the_byte(seed):
    for case in step_cases(seed):
        formula = max(bytes_of(BACKWARD, case), bytes_of(UPDATE, case))
        assert formula == forecast_peak_memory(case.prepare, operators="cpu").peak_bytes


def test_the_formula_is_the_measured_peak_to_the_byte():
    case = step_cases(0)[-1]
    assert bytes_of(UPDATE, case) == measure_peak_memory(**case.prepare()).peak_bytes


def test_each_moment_is_the_peak_twice_by_a_wide_margin():
    for seed in range(200):
        ratios = [bytes_of(BACKWARD, case) / bytes_of(UPDATE, case) for case in step_cases(seed)]
        assert [ratio > 1 for ratio in ratios] == [True, False, True, False]
        assert all(ratio > 1.2 or ratio < 1 / 1.2 for ratio in ratios)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_chain_is_shaped_as_none_in_the_lesson_and_one_has_a_single_block(seed):
    first, second, third, fourth = step_cases(seed)
    assert first.hidden == 4 * first.width
    assert (first.blocks, first.width) == (second.blocks, second.width)
    assert third.hidden in (5 * third.width, 6 * third.width)
    assert third.width % 2 == 1
    assert fourth.blocks == 1
    assert all(case.hidden >= 4 * case.width for case in step_cases(seed))


def test_chains_differ_between_seeds():
    assert all(len({step_cases(seed)[place] for seed in range(50)}) > 30 for place in range(4))


def peak_of(case, layers):
    return extrapolate(case.few_bytes, case.more_bytes, case.few, case.more, layers)


@pytest.mark.parametrize("layers", [2, 4, pytest.param(24, marks=pytest.mark.slow)])
def test_bert_large_has_the_forecast_bytes(layers):
    forecast = forecast_peak_memory(bert_large_recipe(layers=layers), operators="cpu")
    assert peak_of(BERT_LARGE, layers) == forecast.peak_bytes


def test_models_differ_by_other_numbers_of_layers_and_one_is_smaller_than_both():
    for seed in range(200):
        cases = extrapolation_cases(seed)
        assert cases[0] == BERT_LARGE
        assert {case.more - case.few for case in cases} == {2, 3, 5}
        assert [case.layers < case.few for case in cases] == [False, False, False, True]
        assert all(case.layers not in (case.few, case.more) and case.layers > 0 for case in cases)


def test_the_fixed_part_is_large_enough_to_be_missed():
    for seed in range(200):
        assert all(peak_of(case, 0) > 0.03 * peak_of(case, case.layers) for case in extrapolation_cases(seed))
