from __future__ import annotations

import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.judging.lessons.gradient_accumulation import peak, tokens
from grader.judging.lessons.gradient_accumulation.peak import judge_predicted_peak
from grader.judging.lessons.gradient_accumulation.tokens import judge_token_gradients
from grader.lessons.gradient_accumulation.peak import peak_cases
from grader.lessons.gradient_accumulation.tokens import token_cases
from grader.observation import Observation

SEEDS = (0, 20011)


def formula(case: Any) -> float:
    return peak.peak_bytes(case.parameter_bytes, case.state_bytes, case.activation_bytes, case.k)


@pytest.fixture
def computed_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The formula takes the place of the meter, so that a test runs no forward."""

    def forecast(prepare: Any, *, operators: str) -> SimpleNamespace:
        return SimpleNamespace(peak_bytes=formula(prepare.__self__))

    peak._true_peak.cache_clear()
    monkeypatch.setattr(peak, "forecast_peak_memory", forecast)


def judge_peaks(predicted: Sequence[float], seed: int) -> str:
    return judge_predicted_peak(Observation({"predicted_bytes": list(predicted)}), seed).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("computed_peaks")
def test_a_peak_within_three_percent_passes(seed: int) -> None:
    assert judge_peaks([0.98 * formula(case) for case in peak_cases(seed)], seed) == "passed"


@pytest.mark.usefixtures("computed_peaks")
def test_rounded_mebibytes_are_named_as_a_unit() -> None:
    assert judge_peaks([formula(case) // 2**20 for case in peak_cases(1)], 1) == "mebibytes_for_bytes"


@pytest.mark.usefixtures("computed_peaks")
def test_one_number_for_each_k_ignores_the_activations() -> None:
    assert judge_peaks([1e9 / case.k for case in peak_cases(0)], 0) == "activations_ignored"


@pytest.mark.usefixtures("computed_peaks")
def test_unexplained_peaks_are_not_given_a_name() -> None:
    assert judge_peaks([1e9, 2e9, 3e9, 4e9], 0) == "unrecognised"


@functools.cache
def truths(seed: int) -> list[dict[str, Any]]:
    return tokens.TABLE.truths(seed)


def judge_tokens(seed: int, gradients: Sequence[Tensor], rows: int = 1) -> str:
    settings = [{"events": [], "forward_rows": [rows], "loss": truth["loss"]} for truth in truths(seed)]
    tensors = {f"{index}.gradient": gradient for index, gradient in enumerate(gradients)}
    return judge_token_gradients(Observation({"settings": settings}, tensors), seed).code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gradient_of_the_mean_over_all_tokens_passes(seed: int) -> None:
    assert judge_tokens(seed, [truth["gradient"] for truth in truths(seed)]) == "passed"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_is_the_gradient_of_the_whole_batch(seed: int) -> None:
    for case, truth in zip(token_cases(seed), truths(seed), strict=True):
        model = case.make_model()
        inputs, targets = (torch.cat(parts) for parts in zip(*case.make_micro_batches(), strict=True))
        torch.nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
        whole = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
        torch.testing.assert_close(truth["gradient"], whole, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("factor", "code"),
    [(0.0, "no_gradient"), (float("nan"), "mean_of_no_tokens"), (1024.3, "gradient_scaled")],
)
def test_a_gradient_that_no_misconception_yields_is_named_by_what_it_is(factor: float, code: str) -> None:
    assert judge_tokens(0, [factor * truth["gradient"] for truth in truths(0)]) == code


def test_a_division_by_an_unknown_count_is_named() -> None:
    gradients = [
        truth["gradient"] * sum(case.target_tokens) / (sum(case.target_tokens) + 1)
        for case, truth in zip(token_cases(0), truths(0), strict=True)
    ]
    assert judge_tokens(0, gradients) == "divided_by_another_count"


def test_a_right_gradient_of_one_forward_passes_and_costs_the_peak_alone() -> None:
    assert judge_tokens(0, [truth["gradient"] for truth in truths(0)], rows=8) == "passed"
