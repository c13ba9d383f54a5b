"""The cases of lesson 03 are what the lesson says of them, and its numbers are met."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from itertools import combinations
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from grader.judging.lessons.gradient_checkpointing import segments
from grader.judging.lessons.gradient_checkpointing.budget_truth import (
    fewest_recomputed,
    lowest_peak_bytes,
    peak_bytes,
)
from grader.judging.lessons.gradient_checkpointing.faults import faults_of
from grader.lessons.gradient_checkpointing.budget import BudgetCase, budget_cases
from grader.lessons.gradient_checkpointing.faults import FAULTS, faults_cases
from grader.lessons.gradient_checkpointing.forms import LAYERS, forms_cases, watched_parts
from grader.lessons.gradient_checkpointing.functions import function_cases
from grader.lessons.gradient_checkpointing.segments import SegmentsCase, segments_cases
from grader.meters.forecast import forecast_peak_memory
from grader.meters.measurement import measure_peak_memory
from grader.units import MIB

SEEDS = (0, 20_011)
THIN_PEAKS_MIB = {1: 68.3, 2: 37.2, 4: 23.2, 8: 19.2, 16: 23.3, 32: 37.5, 64: 68.0}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def forecast_budget(case: BudgetCase, recomputed: Collection[int]) -> int:
    def prepare() -> dict[str, Any]:
        model = case.make_model()
        shape, dtype = ((case.batch,), torch.long) if case.is_token_model else ((case.batch, case.width), torch.float32)
        inputs = torch.zeros(shape, dtype=dtype)

        def run(states: torch.Tensor) -> torch.Tensor:
            for index, block in enumerate(model):
                states = checkpoint(block, states, use_reentrant=False) if index in recomputed else block(states)
            return states

        def step() -> None:
            model.zero_grad()
            outputs = run(inputs)
            outputs.sum().backward()

        return {"step": step, "model": model, "inputs": inputs}

    return forecast_peak_memory(prepare, operators="cpu").peak_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_the_formula_is_within_half_the_tolerance_of_the_forecast_peak(seed: int) -> None:
    for case, formula in zip(segments_cases(seed), segments.TABLE.truths(seed), strict=True):
        assert abs(formula / segments.true_peak(case) - 1) < segments.TOLERANCE / 2


@pytest.mark.parametrize("k", THIN_PEAKS_MIB)
def test_the_square_root_law_has_the_peaks_of_the_lesson(k: int) -> None:
    peak = forecast_peak_memory(SegmentsCase(64, 64, 1, 4096, k).prepare, operators="cpu")
    assert round(peak.peak_bytes / MIB, 1) == THIN_PEAKS_MIB[k]


def test_the_forecast_is_the_measured_peak() -> None:
    case = SegmentsCase(12, 16, 2, 256, 3)
    forecast = forecast_peak_memory(case.prepare, operators="cpu")
    assert forecast.peak_bytes == measure_peak_memory(**case.prepare()).peak_bytes


def test_three_models_have_to_recompute_and_one_does_not() -> None:
    for seed in range(200):
        assert [fewest_recomputed(case) for case in budget_cases(seed)] == [3, 1, 1, 0]


@pytest.mark.parametrize("seed", SEEDS)
def test_so_many_recomputed_blocks_meet_the_budget_and_fewer_do_not(seed: int) -> None:
    for case in budget_cases(seed):
        blocks = range(len(case.kept_bytes))
        best = min(combinations(blocks, fewest_recomputed(case)), key=partial(peak_bytes, case))
        assert forecast_budget(case, best) < 0.97 * case.budget_bytes
        if fewest_recomputed(case):
            fewer = min(combinations(blocks, fewest_recomputed(case) - 1), key=partial(peak_bytes, case))
            assert forecast_budget(case, fewer) > 1.03 * case.budget_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_the_formula_of_a_plan_is_an_upper_limit_at_most_six_percent_above_the_forecast(seed: int) -> None:
    for case in budget_cases(seed)[:2]:
        for plan in ((), (1,), (1, 3), (2, 5)):
            assert 0.94 < forecast_budget(case, plan) / peak_bytes(case, plan) < 1.01


@pytest.mark.parametrize("seed", SEEDS)
def test_each_budget_lies_where_one_term_that_is_left_out_leads_to_too_few_blocks(seed: int) -> None:
    for term, index in {"work": 0, "block": 0, "inputs": 1, "parameters": 2}.items():
        case = budget_cases(seed)[index]
        for fewer in combinations(range(len(case.kept_bytes)), fewest_recomputed(case) - 1):
            assert forecast_budget(case, fewer) > 1.03 * case.budget_bytes
        fewer = min(
            combinations(range(len(case.kept_bytes)), fewest_recomputed(case) - 1), key=partial(peak_bytes, case)
        )
        assert peak_bytes(case, fewer, left_out=term) < case.budget_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_block_of_an_input_without_gradient_has_to_be_recomputed(seed: int) -> None:
    case = budget_cases(seed)[0]
    plans = combinations(range(1, len(case.kept_bytes)), fewest_recomputed(case))
    assert not case.is_token_model
    assert min(map(partial(peak_bytes, case), plans)) > 1.05 * case.budget_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_the_largest_block_is_of_no_use(seed: int) -> None:
    for case in budget_cases(seed)[:2]:
        largest = max(range(len(case.kept_bytes)), key=lambda index: case.kept_bytes[index])
        others = [index for index in range(len(case.kept_bytes)) if index != largest]
        best = min(combinations(others, fewest_recomputed(case)), key=partial(peak_bytes, case))
        assert peak_bytes(case, best) == lowest_peak_bytes(case, fewest_recomputed(case))
        assert peak_bytes(case, (largest,)) > case.budget_bytes


def test_plain_blocks_need_far_more_than_the_budget() -> None:
    for case in budget_cases(0)[:2]:
        assert peak_bytes(case, ()) - case.budget_bytes > 8 * MIB


@pytest.mark.parametrize("seed", SEEDS)
def test_each_setting_of_a_function_has_something_new(seed: int) -> None:
    first, frozen, dropout, tokens = function_cases(seed)
    assert first.make_inputs().requires_grad
    assert not frozen.make_inputs().requires_grad
    assert not all(parameter.requires_grad for block in frozen.make_blocks() for parameter in block.parameters())
    assert any(isinstance(module, torch.nn.Dropout) for module in dropout.make_blocks()[0].modules())
    assert not tokens.make_inputs().is_floating_point()
    assert len(set(tokens.make_blocks())) < len(tokens.make_blocks())


@pytest.mark.parametrize("seed", SEEDS)
def test_every_fault_stands_alone_and_with_others_and_one_checkpoint_is_sound(seed: int) -> None:
    cases = [faults_of(case) for case in faults_cases(seed)]
    assert cases.count(frozenset()) == 2
    assert sum(case.is_torch for case in faults_cases(seed)) == 1
    for name in FAULTS:
        assert frozenset({name}) in cases
        assert any(name in faults and len(faults) > 1 for faults in cases)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_update_has_the_default_number_of_rows_and_one_epoch_ends_with_a_short_one(seed: int) -> None:
    full, short = forms_cases(seed)
    assert 8 not in (full.rows, short.rows)
    assert full.updates * full.rows == full.pairs
    assert (short.updates - 1) * short.rows < short.pairs < short.updates * short.rows


def test_each_layer_of_the_trained_model_is_watched() -> None:
    model = forms_cases(0)[0].make_model()
    assert len(watched_parts(model)) == 1 + LAYERS
    assert len(model.bert.encoder.layer) == LAYERS
