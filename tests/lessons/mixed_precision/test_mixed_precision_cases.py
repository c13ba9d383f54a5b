"""The cases and the numbers of lesson 05 are what the lesson says of them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from grader.lessons.mixed_precision.budget import peak_budget_case
from grader.lessons.mixed_precision.groups import group_cases
from grader.lessons.mixed_precision.scales import scale_cases, scale_histories, scaler_cases
from grader.meters.forecast import forecast_peak_memory
from grader.testbed.bert_large_recipes import BERT_LARGE_ROWS, bert_large_recipe
from grader.testbed.chain import make_chain
from grader.units import MIB

SEEDS = (0, 1, 20_011)


def test_the_first_history_is_the_known_one() -> None:
    case = scale_histories(5)[0]
    assert (case.start_scale, case.growth_interval) == (65_536, 4)
    assert [update for update, is_inf in enumerate(case.found_inf) if is_inf] == [2, 9]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_history_is_asked_for_from_its_beginning(seed: int) -> None:
    cases = scale_cases(seed)
    assert sum(not case.found_inf for case in cases) == len(scale_histories(seed))
    assert set(scale_histories(seed)) <= set(cases)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_history_has_an_infinity_where_growth_was_due(seed: int) -> None:
    case = scale_histories(seed)[1]
    first = case.found_inf.index(True)
    assert first == case.growth_interval - 1
    assert (True, True) in zip(case.found_inf, case.found_inf[1:], strict=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_scaled_gradients_overflow_by_themselves_in_one_setting(seed: int) -> None:
    case = scaler_cases(seed)[1]
    assert not case.injected
    assert case.is_overflow(0, 2.0**16)
    assert not case.is_overflow(0, 2.0**10)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_setting_has_two_groups_and_a_weight_without_gradient(seed: int) -> None:
    case = scaler_cases(seed)[2]
    weights = case.make_weights()
    assert len(case.make_optimizer(weights).param_groups) == 2
    assert len(case.true_gradients(0)) == len(weights) - 1
    assert all(parameter == 2 for _, parameter, _ in case.injected)


@pytest.mark.parametrize("seed", SEEDS)
def test_overflows_come_from_the_first_micro_batch_of_a_group(seed: int) -> None:
    for case in group_cases(seed):
        for update in case.overflowing:
            assert [bool((targets > 1e4).any()) for _, targets in case.make_group(update)].index(True) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_of_the_budget_job_is_worth_splitting(seed: int) -> None:
    case = peak_budget_case(seed)
    assert case.rows == 4
    assert case.time >= 700


# The numbers of the lesson


def test_the_fraction_of_zeros_falls_with_the_scale() -> None:
    model = make_chain(10, 64, 256)
    torch.manual_seed(0)
    inputs, targets = torch.randn(64, 64), torch.randn(64, 64)
    zeros = []
    for scale in (1, 2**8, 2**12, 2**16):
        model.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = F.mse_loss(model(inputs), targets)
        (scale * loss).backward()
        gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
        zeros.append(float((gradient == 0).float().mean()))
    assert sorted(set(zeros), reverse=True) == zeros
    assert zeros[0] > 0.5 and zeros[-1] < 0.01  # most gradients are lost without a scale, hardly any at 2**16


@pytest.mark.parametrize(
    ("batch", "dtype", "mib"),
    [
        (32, None, 130.3),
        (32, torch.bfloat16, 130.3),
        (512, None, 171.7),
        (512, torch.bfloat16, 150.0),
        (4096, None, 693.2),
        (4096, torch.bfloat16, 414.2),
    ],
)
def test_autocast_saves_half_of_the_activations_less_half_of_the_parameters(batch, dtype, mib) -> None:
    def prepare():
        model = make_chain(16, 256, 1024)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        inputs = torch.zeros(batch, 256)

        def step() -> None:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype, enabled=dtype is not None):
                loss = model(inputs).square().mean()
            loss.backward()
            optimizer.step()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}

    assert forecast_peak_memory(prepare, operators="cpu").peak_bytes / MIB == pytest.approx(mib, abs=0.1)


def test_autocast_saves_at_batch_4_and_costs_at_batch_1_with_checkpointing() -> None:
    def forecast(name: str) -> int:
        return forecast_peak_memory(bert_large_recipe(name, layers=2)).peak_bytes

    rest = "accumulation_checkpointing"
    assert forecast("fp16") < forecast("vanilla")
    assert forecast(f"fp16_{rest}") > forecast(rest)
    rows = {name: row.occupied_mib for name, row in BERT_LARGE_ROWS.items()}
    assert rows["fp16"] < rows["vanilla"]
    assert rows[f"fp16_{rest}"] > rows[rest]
