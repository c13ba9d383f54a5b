"""The cases of the predicted and of the extrapolated peak are what the lesson says of them."""

from pathlib import Path

import pytest
import torch
from torch import nn

from grader.judging.lessons.where_memory_goes import out_of_memory
from grader.judging.lessons.where_memory_goes.extrapolation import extrapolate
from grader.judging.lessons.where_memory_goes.layer import layer_activations
from grader.judging.lessons.where_memory_goes.step_peak import TABLE, TOLERANCE
from grader.lessons.where_memory_goes.extrapolation import BERT_LARGE, extrapolation_cases
from grader.lessons.where_memory_goes.layer import layer_cases
from grader.lessons.where_memory_goes.out_of_memory import CAUSES, out_of_memory_cases
from grader.lessons.where_memory_goes.step_peak import step_cases
from grader.meters.forecast import forecast_peak_memory
from grader.meters.measurement import measure_peak_memory
from grader.meters.saved_tensors import measure_saved_tensors
from grader.testbed.bert_large_recipes import bert_large_recipe
from grader.units import MIB

SEEDS = (0, 20_011)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_kinds_alone_are_the_forecast_peak_to_1_3_percent(seed):
    for case, truth in zip(step_cases(seed), TABLE.truths(seed), strict=True):
        ratio = forecast_peak_memory(case.prepare, operators="cpu").peak_bytes / truth
        assert 1 < ratio < 1.013 < 1 + TOLERANCE


def test_the_kinds_alone_are_nearly_the_measured_peak():
    measured = measure_peak_memory(**step_cases(0)[1].prepare()).peak_bytes
    assert 1 < measured / TABLE.truths(0)[1] < 1.013


def test_each_moment_is_the_peak_twice_by_a_wide_margin():
    for seed in range(200):
        ratios = []
        for case in step_cases(seed):
            activations = case.batch * (2 * case.hidden + case.width)
            ratios.append(activations / (2 * case.width * case.hidden + case.width + case.hidden))
        assert [ratio > 1 for ratio in ratios] == [True, False, True, False]
        assert all(ratio > 1.2 or ratio < 1 / 1.2 for ratio in ratios)


def test_the_rows_at_which_the_moments_of_the_lessons_chain_meet_are_the_wrong_threshold():
    for seed in range(50):
        first, _, _, last = step_cases(seed)
        assert first.batch < 228 < last.batch


@pytest.mark.parametrize("seed", SEEDS)
def test_two_chains_are_shaped_as_none_in_the_lesson(seed):
    first, second, third, fourth = step_cases(seed)
    assert first.hidden == 4 * first.width
    assert (first.blocks, first.width) == (second.blocks, second.width)
    assert third.hidden in (5 * third.width, 6 * third.width)
    assert third.width % 2 == 1
    assert fourth.hidden == 7 * fourth.width


def test_the_reference_counts_what_the_lessons_layer_keeps():
    source = (Path(__file__).resolve().parents[3] / "solutions" / "01_where_memory_goes.py").read_text("utf-8")
    start, end = source.index("class Layer(nn.Module)"), source.index("# %%", source.index("class Layer(nn.Module)"))
    namespace = {"nn": nn}
    exec(source[start:end], namespace)
    for case in layer_cases(0)[:2]:
        inputs = torch.randn(case.batch, case.time, case.width)
        model = namespace["Layer"](case.width, case.heads)
        kept = measure_saved_tensors(lambda model=model, inputs=inputs: model(inputs)).total_bytes
        derived = layer_activations(case.batch, case.time, case.width, case.heads)
        assert 0 < kept - derived < 0.005 * kept  # means and deviations of the norms


@pytest.mark.parametrize("seed", SEEDS)
def test_every_cause_is_the_right_one_three_times_and_every_message_adds_up(seed):
    assert sorted(out_of_memory.TABLE.truths(seed)) == sorted(3 * CAUSES)
    for case in out_of_memory_cases(seed):
        assert 0 <= case.total - case.free - case.own
        assert case.asked > case.free
        assert case.own - case.allocated - case.unallocated > 300 * MIB  # the context


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
