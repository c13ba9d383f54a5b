"""The judges of lesson 05: bf16 in two forms, fp16 on its device, logs of runs, an update within a budget."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.library
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from grader.judging.lessons.mixed_precision import budget
from grader.judging.lessons.mixed_precision.budget import judge_update_peak
from grader.judging.lessons.mixed_precision.diagnoses import diagnose
from grader.judging.lessons.mixed_precision.forms import BF16_TOLERANCE, SHARE
from grader.lessons.mixed_precision.budget import gradient_budget_cases, peak_budget_case
from grader.lessons.mixed_precision.budget_runs import observe_budget_update
from grader.lessons.mixed_precision.checks import check_update_peak
from grader.lessons.mixed_precision.forms import precision_forms_cases, precision_peak_case
from grader.lessons.mixed_precision.groups import device_cases
from grader.lessons.mixed_precision.recorded_runs import run_cases
from grader.meters.cuda_autocast import substitute_autocast_rules
from grader.meters.forecast import forecast_peak_memory
from grader.observation import Observation, decode_observation, encode_observation
from grader.observing.recording import flat_gradient
from grader.verdict import CheckFailed, Verdict

SEEDS = (0, 20_011)

# Two forms


def test_a_float32_run_under_the_name_of_bf16_fails_by_its_format_alone() -> None:
    case = precision_forms_cases(0)[0]
    gradients = []
    for dtype in (None, torch.bfloat16):
        model, batch = case.make_model(), case.make_dataset()[: case.rows]
        with torch.autocast("cpu", dtype, enabled=dtype is not None):
            loss = model(**batch).loss
        loss.backward()
        gradients.append(flat_gradient(model))
    exact, rounded = gradients
    assert 0 < float((exact - rounded).norm() / exact.norm()) < BF16_TOLERANCE


@pytest.mark.parametrize("seed", (0, 1, 2, 3, 20_011))
def test_the_last_batch_is_shorter_in_one_setting(seed: int) -> None:
    assert [case.pairs % case.rows for case in precision_forms_cases(seed)] == [0, 1]


@pytest.mark.parametrize("seed", (0, 3, 20_011))
def test_the_raw_loop_under_cudas_autocast_rules_is_within_half_of_the_tolerance(seed: int) -> None:
    for case in precision_forms_cases(seed):
        gradients = []
        for is_substituted in (False, True):
            model, batch = case.make_model(), case.make_dataset()[: case.rows]
            with cuda_autocast_rules() if is_substituted else contextlib.nullcontext():
                with torch.autocast("cpu", torch.bfloat16):
                    loss = model(**batch).loss
                loss.backward()
            gradients.append(flat_gradient(model))
        on_cpu, on_cuda = gradients
        assert 0 < float((on_cpu - on_cuda).norm() / on_cpu.norm()) < BF16_TOLERANCE / 2


@contextlib.contextmanager
def cuda_autocast_rules() -> Iterator[None]:
    library = torch.library.Library("aten", "IMPL")
    substitute_autocast_rules(library)
    try:
        yield
    finally:
        library._destroy()


@pytest.mark.parametrize("operators", ("cpu", "cuda"))
def test_bf16_keeps_within_the_share_that_float32_exceeds(operators: str) -> None:
    case = precision_peak_case(0)

    def peak_bytes(dtype: torch.dtype | None) -> int:
        def prepare() -> dict[str, Any]:
            model, batch = case.make_model(), case.make_batches()[0]
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            inputs = {name: torch.zeros_like(values) for name, values in batch.items()}

            def step() -> None:
                with torch.autocast("cpu", dtype, enabled=dtype is not None):
                    loss = model(**inputs).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()

            return {"step": step, "model": model, "optimizer": optimizer}

        return forecast_peak_memory(prepare, operators=operators).peak_bytes

    plain = peak_bytes(None)
    assert peak_bytes(torch.bfloat16) < 0.95 * SHARE * plain
    assert (1 - SHARE) * plain > 4 * 2**20  # a class's grader allows a kernel 4 MiB for Python's own objects


# Logs of runs


@pytest.mark.parametrize("seed", (*range(10), 20_011))
def test_every_log_has_a_bad_update_and_a_finite_norm(seed: int) -> None:
    for case in run_cases(seed):
        log = case.log()
        assert any(update.bad_pass for update in log)
        assert any(math.isfinite(update.norm) for update in log)


@pytest.mark.parametrize("seed", (*range(10), 20_011))
def test_every_kind_of_run_is_asked_for_and_told_apart_with_room(seed: int) -> None:
    logs = [case.log() for case in run_cases(seed)]
    assert sorted(map(diagnose, logs)) == ["bug"] * 3 + ["collapse"] * 2 + ["overflow"] * 3
    for log in logs:
        largest = max(update.norm for update in log if math.isfinite(update.norm))
        assert largest > 1e6 or largest < 1e3


# fp16 on its device


@pytest.mark.parametrize("seed", (0, 1, 2, 3, 20_011))
def test_the_first_layers_underflow_without_a_scale(seed: int) -> None:
    for case in device_cases(seed):
        model, (inputs, targets) = case.make_model(), case.make_micro_batches()[0]
        with torch.autocast("cpu", torch.float16):
            loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        assert float((model[0].weight.grad == 0).float().mean()) > 0.9


# Within a budget


def make_plain_update(model, optimizer, tokens, targets) -> None:
    F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()).backward()
    optimizer.step()


@pytest.mark.parametrize("seed", (0, 1, 2, 20_011))
def test_one_setting_has_an_odd_batch_and_a_tied_head(seed: int) -> None:
    even, odd = gradient_budget_cases(seed)
    assert (even.rows % 2, odd.rows % 2) == (0, 1)
    assert odd.is_head_tied


def forecast(case: Any, split: int, *, is_checkpointed: bool, dtype: torch.dtype | None = None) -> int:
    """Peak of one update by other recipes, in bytes."""

    def prepare() -> dict[str, Any]:
        model, (tokens, targets) = case.make_model(), case.make_batch()
        optimizer = case.make_optimizer(model)

        def step() -> None:
            for rows, wanted in zip(tokens.split(split), targets.split(split), strict=True):
                with torch.autocast("cpu", dtype, enabled=dtype is not None):
                    states = model.token_embedding(rows) + model.position_embedding(torch.arange(case.time))
                    for block in model.blocks:
                        states = checkpoint(block, states, use_reentrant=False) if is_checkpointed else block(states)
                    logits = model.head(model.final_norm(states))
                    loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten()) * len(rows) / len(tokens)
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": (tokens, targets)}

    return budget.forecast_peak_memory(prepare, operators="cpu").peak_bytes


def test_the_budget_needs_both_tools_and_no_autocast() -> None:
    case = peak_budget_case(20_011)
    limit = budget.SHARE * budget._baseline(case, "cpu").peak_bytes
    assert forecast(case, 1, is_checkpointed=True) < 0.85 * limit
    assert forecast(case, 1, is_checkpointed=False) > 2 * limit
    assert forecast(case, case.rows, is_checkpointed=True) > 1.5 * limit
    assert forecast(case, 1, is_checkpointed=False, dtype=torch.bfloat16) > 1.4 * limit
    assert forecast(case, case.rows, is_checkpointed=True, dtype=torch.bfloat16) > 1.2 * limit


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("rows", "events", "code"),
    [
        ((4,), ("forward", "backward"), "nothing_saved"),
        ((4, 4), ("forward", "backward", "recomputed"), "whole_batch_at_once"),
        ((1, 1, 1, 1), ("forward", "backward") * 4, "activations_of_all_blocks_kept"),
        ((2, 2, 2, 2), ("forward", "backward", "recomputed") * 2, "too_many_rows_at_once"),
        ((1,) * 8, ("forward",) * 4 + ("backward", "recomputed") * 4, "graphs_kept"),
        ((1,) * 8, ("forward", "backward", "recomputed") * 4, "tensors_kept"),
    ],
)
def test_a_peak_over_the_budget_is_explained(rows: tuple[int, ...], events: tuple[str, ...], code: str, seed: int):
    baseline = budget._baseline(peak_budget_case(seed), "cpu")
    claim = {"peak_bytes": baseline.peak_bytes, "above_entry_bytes": baseline.above_entry_bytes, "device": "cpu"}
    facts = {"claims": [claim], "block_rows": list(rows) * 2, "events": list(events) * 2}
    assert judge_peak(facts, seed).code == code


def judge_peak(facts: dict[str, Any], seed: int, function: Callable[..., None] = make_plain_update) -> Verdict:
    """Judge a claim that comes with an update."""
    settings, tensors = observe_budget_update(function, peak_budget_case(seed), "0")
    observation = Observation({"settings": [settings], "peak_weight_formats": ["float32"], **facts}, tensors)
    return judge_update_peak(decode_observation(encode_observation(observation)), seed)


def within_budget(seed: int) -> dict[str, Any]:
    needed = budget._needed_bytes(peak_budget_case(seed))
    claim = {"peak_bytes": needed + 6 * 2**20, "above_entry_bytes": 6 * 2**20, "device": "cpu"}
    return {"claims": [claim], "block_rows": [1] * 8, "events": []}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_peak_counts_only_for_the_update_that_is_asked_for(seed: int) -> None:
    assert judge_peak(within_budget(seed), seed).is_passed
    wrong = judge_peak(within_budget(seed), seed, lambda *_: None)
    assert (wrong.code, wrong.measured) == ("peak_of_another_update", "no update")
    assert judge_peak(within_budget(seed) | {"peak_weight_formats": ["float16"]}, seed).code == "weights_converted"


def test_the_peak_of_an_update_for_each_row_is_that_of_another_update() -> None:
    def update_each_row(model, optimizer, tokens, targets) -> None:
        for row, target in zip(tokens.split(1), targets.split(1), strict=True):
            F.cross_entropy(model(row).flatten(0, 1), target.flatten()).backward()
            optimizer.step()
            optimizer.zero_grad()

    with pytest.raises(CheckFailed) as failure:
        check_update_peak(update_each_row)
    assert (failure.value.code, failure.value.measured) == ("peak_of_another_update", "4 updates")


def test_a_peak_below_the_model_is_refused() -> None:
    facts = within_budget(0)
    facts["claims"][0]["peak_bytes"] = budget._needed_bytes(peak_budget_case(0))
    with pytest.raises(ValueError, match="at entry"):
        judge_peak(facts, 0)
