"""Misconceptions about checkpointing are recognised at two sizes and two seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.judging.lessons.gradient_checkpointing import function_peak, functions, segments
from grader.judging.lessons.gradient_checkpointing.function_peak import judge_checkpoint_peak
from grader.judging.lessons.gradient_checkpointing.functions import judge_checkpoint_gradients
from grader.judging.lessons.gradient_checkpointing.segments import judge_segment_peak
from grader.lessons.gradient_checkpointing.functions import function_cases, function_peak_case
from grader.observation import Observation

SEEDS = (0, 20_011)
Facts = dict[str, Any]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


# The predicted peak


@pytest.fixture
def computed_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the formula replace the meter, so that a test takes no forward."""
    formula = lambda case: segments._run(segments.segment_peak, case)  # noqa: E731
    monkeypatch.setattr(segments, "true_peak", formula)


def judge_peaks(predicted: Sequence[float], seed: int) -> str:
    return judge_segment_peak(Observation({"predicted_bytes": list(predicted)}), seed).code


@pytest.mark.usefixtures("computed_peaks")
def test_peaks_within_three_percent_pass_and_others_are_explained() -> None:
    truths = segments.TABLE.truths(20_011)
    assert judge_peaks([0.98 * truth for truth in truths], 20_011) == "passed"
    assert judge_peaks([1.01 * truth for truth in segments.TABLE.truths(0)], 20_011) == "visible_case_hard_coded"
    assert judge_peaks([1e9, 2e9, 3e9, 4e9], 0) == "unrecognised"


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
    "random_numbers_changed": (2, lambda facts, seen: seen.update(outputs=seen["outputs"].flip(0))),
    "rounded_to_fewer_bits": (0, lambda facts, seen: seen.update(gradient=seen["gradient"].bfloat16().float())),
    "output_of_other_shape": (0, lambda facts, seen: seen.update(outputs=seen["outputs"][:1])),
    "output_scaled": (0, lambda facts, seen: seen.update(outputs=3 * seen["outputs"])),
    "run_in_eval_mode": (2, facts_change(is_training=[True, False])),
    "some_blocks_run_plainly": (1, facts_change(recomputed=[1, 0])),
    "input_changed_in_place": (0, facts_change(is_input_kept=False)),
    "parameter_gradients_missing": (0, no_parameter_gradient(4)),
    "some_gradients_missing": (1, facts_change(missing=["1.0.bias", "0.0.bias"])),
    "gradient_counted_twice": (0, gradient_times(2)),
    "gradient_scaled": (0, gradient_times(1024)),
    "gradient_not_finite": (0, gradient_times(float("nan"))),
    "calls_not_added_up": (3, lambda facts, seen: seen.update(gradient=seen["gradient"].flip(0))),
    "input_gradient_wrong": (0, lambda facts, seen: seen.update(input_gradient=2 * seen["input_gradient"])),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", FUNCTION_MISTAKES)
def test_every_fault_of_a_checkpoint_is_named(code: str, seed: int) -> None:
    setting, change = FUNCTION_MISTAKES[code]
    assert judge_functions(seed, setting, change) == code


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
