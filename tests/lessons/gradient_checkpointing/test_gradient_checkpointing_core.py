"""Misconceptions about checkpointing are recognised at two sizes and two seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.judging.lessons.gradient_checkpointing import function_peak, functions, segments
from grader.judging.lessons.gradient_checkpointing.function_peak import judge_checkpoint_peak
from grader.judging.lessons.gradient_checkpointing.functions import judge_checkpoint_gradients
from grader.judging.lessons.gradient_checkpointing.segments import judge_segment_peak
from grader.lessons.gradient_checkpointing.functions import function_cases, function_peak_case
from grader.lessons.gradient_checkpointing.segments import segments_cases
from grader.observation import Observation

SEEDS = (0, 20_011)
Facts = dict[str, Any]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


# The predicted peak


@pytest.fixture
def computed_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The formula stands for the meter, so that a test takes no forward."""

    def forecast(prepare: Any, *, operators: str) -> SimpleNamespace:
        return SimpleNamespace(peak_bytes=segments.peak(prepare.__self__))

    segments._true_peak.cache_clear()
    monkeypatch.setattr(segments, "forecast_peak_memory", forecast)
    yield
    segments._true_peak.cache_clear()


def judge_peaks(predicted: Sequence[float], seed: int) -> str:
    return judge_segment_peak(Observation({"predicted_bytes": list(predicted)}), seed).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", segments.MISTAKES, ids=lambda mistake: mistake.code)
@pytest.mark.usefixtures("computed_peaks")
def test_every_misconception_of_the_peak_is_named(mistake: Any, seed: int) -> None:
    assert judge_peaks([mistake.yields(case) for case in segments_cases(seed)], seed) == mistake.code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.usefixtures("computed_peaks")
def test_a_peak_within_three_percent_passes(seed: int) -> None:
    assert judge_peaks([0.98 * segments.peak(case) for case in segments_cases(seed)], seed) == "passed"


@pytest.mark.usefixtures("computed_peaks")
def test_peaks_of_the_visible_case_and_unexplained_ones_are_told_apart() -> None:
    visible = [segments.peak(case) for case in segments_cases(0)]
    assert judge_peaks(visible, 20_011) == "visible_case_hard_coded"
    assert judge_peaks([1e9, 2e9, 3e9, 4e9], 0) == "unrecognised"
    assert judge_peaks([segments.peak(case) // 2**20 for case in segments_cases(0)], 0) == "mebibytes_for_bytes"


# A checkpoint by hand

Change = Callable[[Facts, dict[str, Tensor]], None]


def right_functions(seed: int) -> tuple[list[Facts], list[dict[str, Tensor]]]:
    settings, tensors = [], []
    for case in function_cases(seed):
        reference = functions.make_reference(case)
        runs = list(range(reference.calls))
        facts = {"forwards": runs, "recomputed": runs, "is_training": [True], "is_graph_made": [False], "missing": []}
        facts |= {"needs_gradient": True, "parameters_seen": 4, "has_own_function": True}
        settings.append(facts | {"is_random_state_kept": True, "is_input_kept": True})
        seen = {"outputs": reference.outputs, "gradient": reference.gradient}
        if reference.input_gradient is not None:
            seen["input_gradient"] = reference.input_gradient
        tensors.append(seen)
    return settings, tensors


def judge_functions(seed: int, setting: int, change: Change) -> str:
    settings, tensors = right_functions(seed)
    change(settings[setting], tensors[setting])
    named = {f"{index}.{name}": value for index, seen in enumerate(tensors) for name, value in seen.items()}
    return judge_checkpoint_gradients(Observation({"settings": settings}, named), seed).code


def facts_change(**facts: Any) -> Change:
    return lambda seen, tensors: seen.update(facts)


def gradient_times(factor: float) -> Change:
    return lambda facts, tensors: tensors.update(gradient=factor * tensors["gradient"])


def no_parameter_gradient(parameters_seen: int) -> Change:
    def change(facts: Facts, tensors: dict[str, Tensor]) -> None:
        facts.update(missing=["0.0.weight"], parameters_seen=parameters_seen)
        tensors["gradient"] = torch.zeros_like(tensors["gradient"])

    return change


FUNCTION_MISTAKES: dict[str, tuple[int, Change]] = {
    "other_output": (0, lambda facts, seen: seen.update(outputs=seen["outputs"].flip(0))),
    "output_of_other_shape": (0, lambda facts, seen: seen.update(outputs=seen["outputs"][:1])),
    "output_scaled": (0, lambda facts, seen: seen.update(outputs=3 * seen["outputs"])),
    "run_in_eval_mode": (2, facts_change(is_training=[True, False])),
    "input_without_gradient": (1, facts_change(needs_gradient=False)),
    "not_recomputed": (0, facts_change(recomputed=[])),
    "first_graph_kept": (0, facts_change(recomputed=[], is_graph_made=[True])),
    "plain_block_run": (0, facts_change(recomputed=[], is_graph_made=[True], has_own_function=False)),
    "run_twice_in_forward": (0, facts_change(forwards=[0] * 9)),
    "recomputed_too_often": (0, facts_change(recomputed=[0] * 9)),
    "first_block_run_plainly": (1, facts_change(recomputed=[2, 1])),
    "tokens_run_plainly": (3, facts_change(recomputed=[1])),
    "some_blocks_run_plainly": (1, facts_change(recomputed=[1, 0])),
    "input_changed_in_place": (0, facts_change(is_input_kept=False)),
    "parameters_not_handed_over": (0, no_parameter_gradient(0)),
    "parameter_gradients_missing": (0, no_parameter_gradient(4)),
    "some_gradients_missing": (1, facts_change(missing=["1.0.bias", "0.0.bias"])),
    "gradient_counted_twice": (0, gradient_times(2)),
    "gradient_scaled": (0, gradient_times(1024)),
    "gradient_not_finite": (0, gradient_times(float("nan"))),
    "random_state_not_replayed": (2, lambda facts, seen: seen.update(gradient=seen["gradient"].flip(0))),
    "calls_not_added_up": (3, lambda facts, seen: seen.update(gradient=seen["gradient"].flip(0))),
    "input_gradient_missing": (0, lambda facts, seen: seen.pop("input_gradient")),
    "input_gradient_wrong": (0, lambda facts, seen: seen.update(input_gradient=2 * seen["input_gradient"])),
    "random_state_left_behind": (2, facts_change(is_random_state_kept=False)),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", FUNCTION_MISTAKES)
def test_every_fault_of_a_checkpoint_is_named(code: str, seed: int) -> None:
    setting, change = FUNCTION_MISTAKES[code]
    assert judge_functions(seed, setting, change) == code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gradient_of_a_plain_sum_is_named(seed: int) -> None:
    ones = functions._gradient_of_ones(function_cases(seed)[0])
    assert judge_functions(seed, 0, lambda facts, seen: seen.update(gradient=ones)) == "output_gradient_ignored"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_checkpoint_passes(seed: int) -> None:
    assert judge_functions(seed, 0, lambda facts, seen: None) == "passed"


def judge_function_peak(seed: int, share: float, **facts: Any) -> str:
    case = function_peak_case(seed)
    peak_bytes = int(share * function_peak._baseline(case, "cpu").peak_bytes)
    claim = {"peak_bytes": peak_bytes, "above_entry_bytes": 0, "device": "cpu"}
    seen = {"recomputed": list(range(case.blocks)), "is_graph_made": [False], "claims": [claim]} | facts
    return judge_checkpoint_peak(Observation(seen), seed).code


@pytest.mark.parametrize("seed", SEEDS)
def test_a_peak_of_half_passes_and_a_higher_one_is_explained(seed: int) -> None:
    assert judge_function_peak(seed, 0.5) == "passed"
    assert judge_function_peak(seed, 0.5, recomputed=[0]) == "not_run_again"
    assert judge_function_peak(seed, 0.5, recomputed=[7]) == "only_last_block_run_again"
    assert judge_function_peak(seed, 0.5, recomputed=[]) == "peak_without_graph"
    assert judge_function_peak(seed, 1.0, recomputed=[]) == "graphs_kept"
    assert judge_function_peak(seed, 1.0, is_graph_made=[True]) == "graph_made_in_forward"
    assert judge_function_peak(seed, 0.6) == "activations_kept"
