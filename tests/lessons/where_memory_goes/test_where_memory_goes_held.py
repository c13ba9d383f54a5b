"""Lesson 01, memory that is held: every misconception is told by its own name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from grader.judging.lessons.where_memory_goes import left_alive, occupied, own_meter
from grader.judging.lessons.where_memory_goes.deviations import Rules
from grader.judging.lessons.where_memory_goes.left_alive import judge_freed_bytes
from grader.judging.lessons.where_memory_goes.occupied import judge_occupied_memory
from grader.judging.lessons.where_memory_goes.own_meter import judge_own_meter
from grader.lessons.where_memory_goes.occupied import occupied_cases
from grader.observation import Observation
from grader.units import MIB

SEEDS = (0, 20011)
WATCHED = {"calls": 1, "watchers": ["__main__.Watch"], "is_profiled": False, "is_left_on": False}


def rules_id(value: object) -> str:
    return " ".join(f"{key}={rule}" for key, rule in value.rules.items()) if hasattr(value, "rules") else str(value)


# The bytes that names keep alive


def in_namespaces(row: Sequence[float], seed: int) -> list[dict[str, float]]:
    numbers = iter(row)
    return [{name: next(numbers) for name in truth} for truth in left_alive.true_bytes(seed)]


def judge_freed(settings: Sequence[dict[str, float]], seed: int) -> str:
    return judge_freed_bytes(Observation({"settings": list(settings)}), seed).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("deviation", left_alive.DEVIATIONS, ids=rules_id)
def test_every_misconception_of_freed_bytes_is_named(deviation: left_alive.Deviation, seed: int) -> None:
    assert (
        judge_freed(in_namespaces(left_alive.make_recogniser(seed).yields(deviation.rules), seed), seed)
        == deviation.code
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bytes_that_deletion_frees_pass(seed: int) -> None:
    assert judge_freed(left_alive.true_bytes(seed), seed) == "passed"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_the_names_does_not_matter(seed: int) -> None:
    assert judge_freed([dict(sorted(truth.items())) for truth in left_alive.true_bytes(seed)], seed) == "passed"


@pytest.mark.parametrize("seed", SEEDS)
def test_two_misconceptions_together_are_both_told(seed: int) -> None:
    rules: Rules = {"gradients": "forgotten", "within": "each"}
    settings = in_namespaces(left_alive.make_recogniser(seed).yields(rules), seed)
    verdict = judge_freed_bytes(Observation({"settings": settings}), seed)
    assert verdict.code == "counted_for_each_tensor"
    assert "two tensors of one name" in verdict.look_at
    assert "besides its numbers" in verdict.look_at


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "keeps"),
    [
        ("one_name_only", lambda name, freed, truth: freed == max(truth.values())),
        ("names_without_bytes_left_out", lambda name, freed, truth: freed > 0),
        ("private_names_left_out", lambda name, freed, truth: not name.startswith("_")),
        ("names_left_out", lambda name, freed, truth: name not in ("best", "projector")),
    ],
)
def test_names_that_are_left_out_are_named(code: str, keeps, seed: int) -> None:
    settings = [
        {name: freed for name, freed in truth.items() if keeps(name, freed, truth)}
        for truth in left_alive.true_bytes(seed)
    ]
    assert judge_freed(settings, seed) == code


def test_names_that_the_namespace_has_not_are_named() -> None:
    assert judge_freed([{**truth, "total": 1} for truth in left_alive.true_bytes(0)], 0) == "unknown_names"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("mebibytes_for_bytes", lambda freed: freed / MIB),
        ("kibibytes_for_bytes", lambda freed: freed // 1024),
        ("bits_for_bytes", lambda freed: 8 * freed),
        ("nothing_freed", lambda freed: 0),
        ("python_objects_measured", lambda freed: 72 if freed else 28),
        ("more_than_it_frees", lambda freed: freed + 5),
        ("less_than_it_frees", lambda freed: max(freed - 3, 0)),
    ],
)
def test_other_numbers_of_bytes_are_named(code: str, wrong, seed: int) -> None:
    truths = left_alive.true_bytes(seed)
    assert judge_freed([{name: wrong(freed) for name, freed in truth.items()} for truth in truths], seed) == code


@pytest.mark.parametrize("seed", SEEDS)
def test_a_misconception_that_explains_most_of_the_names_is_told(seed: int) -> None:
    settings = in_namespaces(left_alive.make_recogniser(seed).yields({"shared": "counted"}), seed)
    settings[0]["first_row"] = 3
    assert judge_freed(settings, seed) == "every_holder_counted"


def test_bytes_of_the_visible_programs_are_named_on_others() -> None:
    assert judge_freed(left_alive.true_bytes(0), 20011) == "visible_case_hard_coded"


# The learner's own meter


def judge_peaks(peaks: Sequence[float], seed: int, **facts: object) -> str:
    settings = [{**WATCHED, "peak_bytes": peak, **facts} for peak in peaks]
    return judge_own_meter(Observation({"settings": settings}), seed).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("deviation", own_meter.DEVIATIONS, ids=rules_id)
def test_every_misconception_of_a_meter_is_named(deviation: own_meter.Deviation, seed: int) -> None:
    assert judge_peaks(own_meter.make_recogniser(seed).yields(deviation.rules), seed) == deviation.code


@pytest.mark.parametrize("seed", SEEDS)
def test_a_meter_that_counts_by_the_rules_passes(seed: int) -> None:
    peaks = own_meter.make_recogniser(seed).yields({})
    assert peaks == list(own_meter.true_peaks(seed))
    assert judge_peaks(peaks, seed) == "passed"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_meter_with_two_misconceptions_is_told_both(seed: int) -> None:
    peaks = own_meter.make_recogniser(seed).yields({"size": "elements", "results": "first"})
    settings = [{**WATCHED, "peak_bytes": peak} for peak in peaks]
    verdict = judge_own_meter(Observation({"settings": settings}), seed)
    assert verdict.code == "elements_for_bytes"
    assert "several tensors" in verdict.look_at


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "facts"),
    [
        ("step_not_called", {"calls": 0, "watchers": []}),
        ("library_meter_used", {"watchers": ["grader.meters.allocation.AllocationMeter"]}),
        ("library_meter_used", {"watchers": ["torch.distributed._tools.mem_tracker.MemTracker"]}),
        ("profiler_used", {"watchers": [], "is_profiled": True}),
        ("operators_not_watched", {"watchers": []}),
        ("watch_left_on", {"is_left_on": True}),
    ],
)
def test_right_peaks_that_another_meter_measured_do_not_pass(code: str, facts: dict[str, object], seed: int) -> None:
    assert judge_peaks(own_meter.true_peaks(seed), seed, **facts) == code


@pytest.mark.parametrize("seed", SEEDS)
def test_peaks_in_another_unit_or_of_earlier_calls_are_named(seed: int) -> None:
    truths = own_meter.true_peaks(seed)
    assert judge_peaks([truth / MIB for truth in truths], seed) == "mebibytes_for_bytes"
    assert judge_peaks([truth // MIB for truth in truths], seed) == "mebibytes_for_bytes"
    assert judge_peaks([0] * len(truths), seed) == "nothing_counted"
    remembered = [max(truths[: index + 1]) for index in range(len(truths))]
    assert judge_peaks(remembered, seed) == "earlier_calls_remembered"
    assert judge_peaks([truth + 5 for truth in truths], seed, calls=2) == "step_called_again"
    assert judge_peaks([truth + 5 for truth in truths], seed) == "unrecognised"
    assert judge_peaks([*truths[:2], truths[2] - 100, *truths[3:]], seed) == "wrong_for_some_steps"


@pytest.mark.parametrize("seed", SEEDS)
def test_keys_that_come_back_are_named_whatever_they_hide(seed: int) -> None:
    *peaks, rounds = own_meter.true_peaks(seed)
    assert judge_peaks([*peaks, rounds // 2], seed) == "keys_outlive_storages"
    peaks[1] //= 3
    assert judge_peaks([*peaks, rounds // 4], seed) == "keys_outlive_storages"


def test_peaks_of_the_visible_steps_are_named_on_others() -> None:
    assert judge_peaks(own_meter.true_peaks(0), 20011) == "visible_case_hard_coded"


# Allocated, reserved, occupied


def judge_occupied(answers: Sequence[dict[str, float]], seed: int) -> str:
    return judge_occupied_memory(Observation({"answers": list(answers)}), seed).code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("key", "mistake"),
    [(key, mistake) for key, mistakes in occupied.MISTAKES.items() for mistake in mistakes],
    ids=lambda value: value if isinstance(value, str) else value.code,
)
def test_every_misconception_of_occupied_memory_is_named(key: str, mistake: occupied.Mistake, seed: int) -> None:
    answers = [occupied.occupied_answer(case) | {key: mistake.yields(case)} for case in occupied_cases(seed)]
    assert judge_occupied(answers, seed) == mistake.code


@pytest.mark.parametrize("seed", SEEDS)
def test_right_readings_pass(seed: int) -> None:
    assert judge_occupied([occupied.occupied_answer(case) for case in occupied_cases(seed)], seed) == "passed"


@pytest.mark.parametrize("seed", SEEDS)
def test_other_readings_are_named(seed: int) -> None:
    rights = [occupied.occupied_answer(case) for case in occupied_cases(seed)]
    in_mib = [{key: value / MIB for key, value in right.items()} for right in rights]
    assert judge_occupied(in_mib, seed) == "mebibytes_for_bytes"
    in_gib = [{key: value / 2**30 for key, value in right.items()} for right in rights]
    assert judge_occupied(in_gib, seed) == "gibibytes_for_bytes"
    assert (
        judge_occupied([{key: value + 5 for key, value in right.items()} for right in rights], seed) == "unrecognised"
    )


def test_readings_of_the_visible_devices_are_named_on_others() -> None:
    assert judge_occupied([occupied.occupied_answer(case) for case in occupied_cases(0)], 20011) == (
        "visible_case_hard_coded"
    )
