"""The judges of lesson 01, on evidence that banks and the proof of tables do not give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from grader.judging.lessons.where_memory_goes import extrapolation, left_alive, own_meter
from grader.lessons.where_memory_goes.extrapolation import extrapolation_cases
from grader.lessons.where_memory_goes.own_meter import watched_step_cases
from grader.meters.allocation import AllocationMeter
from grader.observation import Observation

SEEDS = (0, 20_011)
WATCHED = {"calls": 1, "watchers": ["__main__.Watch"], "is_profiled": False, "is_left_on": False}


def judge_freed(settings: Sequence[dict[str, float]], seed: int = 0) -> str:
    return left_alive.judge_freed_bytes(Observation({"settings": list(settings)}), seed).code


def judge_peaks(peaks: Sequence[float], seed: int = 0, **facts: object) -> str:
    settings = [{**WATCHED, "peak_bytes": peak, **facts} for peak in peaks]
    return own_meter.judge_own_meter(Observation({"settings": settings}), seed).code


def judge_lines(peaks: Sequence[float], asked: Sequence[Sequence[int]] | None = None) -> str:
    asked_layers = asked or [[case.few, case.more] for case in extrapolation_cases(0)]
    facts = {"extrapolated_bytes": list(peaks), "asked_layers": asked_layers}
    return extrapolation.judge_extrapolated_peak(Observation(facts), 0).code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bytes_that_deletion_frees_pass_in_any_order_of_names(seed: int) -> None:
    truths = left_alive.TABLE.truths(seed)
    assert judge_freed(truths, seed) == judge_freed([dict(sorted(truth.items())) for truth in truths], seed) == "passed"


@pytest.mark.parametrize(
    ("code", "keeps"),
    [
        ("one_name_only", lambda name, freed, truth: freed == max(truth.values())),
        ("names_without_bytes_left_out", lambda name, freed, truth: freed > 0),
        ("private_names_left_out", lambda name, freed, truth: not name.startswith("_")),
        ("names_left_out", lambda name, freed, truth: name not in ("best", "projector")),
    ],
)
def test_names_that_are_left_out_are_named(code: str, keeps: Callable[..., bool]) -> None:
    settings = [
        {name: freed for name, freed in truth.items() if keeps(name, freed, truth)}
        for truth in left_alive.TABLE.truths(0)
    ]
    assert judge_freed(settings) == code


def test_other_names_and_other_bytes_fail() -> None:
    truths = left_alive.TABLE.truths(0)
    assert judge_freed([{**truth, "total": 1} for truth in truths]) == "unknown_names"
    assert judge_freed([{name: freed + 1 for name, freed in truth.items()} for truth in truths]) == "unrecognised"
    assert judge_freed([dict.fromkeys(truth, float("nan")) for truth in truths]) == "unrecognised"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_meter_measures_what_the_courses_meter_measures(seed: int) -> None:
    peaks = []
    for case in watched_step_cases(seed):
        step, meter = case.make_step(), AllocationMeter()
        with meter:
            step()
        peaks.append(meter.peak_bytes)
    assert own_meter.TABLE.truths(seed) == peaks
    assert judge_peaks(peaks, seed) == "passed"


@pytest.mark.parametrize(
    ("code", "facts"),
    [
        ("step_not_called", {"calls": 0, "watchers": []}),
        ("library_meter_used", {"watchers": ["grader.meters.allocation.AllocationMeter"]}),
        ("library_meter_used", {"watchers": ["torch.distributed._tools.mem_tracker.MemTracker"]}),
        ("profiler_used", {"watchers": [], "is_profiled": True}),
        ("operators_not_watched", {"watchers": []}),
        ("watch_left_on", {"is_left_on": True}),
        ("passed", {"calls": 2}),
    ],
)
def test_who_watched_is_judged_even_where_the_peaks_are_right(code: str, facts: dict[str, object]) -> None:
    assert judge_peaks(own_meter.TABLE.truths(0), **facts) == code


def test_peaks_that_no_edit_gives_are_named_by_their_pattern() -> None:
    truths = own_meter.TABLE.truths(0)
    *peaks, rounds = truths
    assert judge_peaks([*peaks, rounds // 2]) == "keys_outlive_storages"
    assert judge_peaks([max(truths[: index + 1]) for index in range(len(truths))]) == "earlier_calls_remembered"
    assert judge_peaks([truth + 5 for truth in truths], calls=2) == "step_called_again"
    assert judge_peaks([truth + 5 for truth in truths]) == "unrecognised"


@pytest.mark.parametrize("rounding", [1, 1 / 3 * 3, 1 - 1e-9])
def test_the_rounding_of_a_float_passes(rounding: float) -> None:
    assert judge_lines([peak * rounding for peak in extrapolation.TABLE.truths(0)]) == "passed"


def test_extrapolated_peaks_without_both_forecasts_or_without_sense_fail() -> None:
    truths = extrapolation.TABLE.truths(0)
    assert truths[0] == 12_549_588_588  # BERT-large, as the lesson forecasts it whole
    assert judge_lines(truths, [[case.few] for case in extrapolation_cases(0)]) == "small_models_not_forecast"
    assert judge_lines([1e9] * len(truths)) == judge_lines([float("nan")] * len(truths)) == "unrecognised"
