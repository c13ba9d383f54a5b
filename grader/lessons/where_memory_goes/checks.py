"""Observations of lesson 01: where memory goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from grader.device import lesson_device
from grader.lessons.where_memory_goes.extrapolation import ExtrapolationCase, extrapolation_cases
from grader.lessons.where_memory_goes.layer import layer_cases
from grader.lessons.where_memory_goes.left_alive import namespace_cases
from grader.lessons.where_memory_goes.out_of_memory import CAUSES, out_of_memory_cases
from grader.lessons.where_memory_goes.own_meter import watched_step_cases
from grader.lessons.where_memory_goes.step_peak import step_cases
from grader.lessons.where_memory_goes.watchers import record_watchers
from grader.observation import Observation
from grader.observing.contract import fail, require_number, require_word
from grader.observing.refused_meters import refuse_meters
from grader.observing.running import make_check

MOST_BYTES = 10**18  # no computer has an exabyte


@make_check("predict_step_peak", ("blocks", "width", "hidden", "batch"))
def check_step_peak(predict_step_peak: Callable[..., Any], seed: int) -> Observation:
    """Ask for the peak of four chains."""
    predicted = []
    for case in step_cases(seed):
        with refuse_meters("a formula: the peak computed from the four arguments"):
            answer = predict_step_peak(case.blocks, case.width, case.hidden, case.batch)
        predicted.append(_require_bytes(answer, "the peak in bytes"))
    return Observation({"predicted_bytes": predicted})


@make_check("layer_activations", ("batch", "time", "width", "heads"))
def check_layer_activations(layer_activations: Callable[..., Any], seed: int) -> Observation:
    """Ask for the activations of four transformer layers."""
    answers = []
    for case in layer_cases(seed):
        with refuse_meters("a formula: the bytes computed from the four arguments"):
            answer = layer_activations(case.batch, case.time, case.width, case.heads)
        answers.append(_require_bytes(answer, "the bytes of the activations"))
    return Observation({"answers": answers})


@make_check("extrapolate_peak", ("forecast_layers", "few", "more", "layers"))
def check_extrapolated_peak(extrapolate_peak: Callable[..., Any], seed: int) -> Observation:
    """Ask for the peak of four models; only the two small ones can be forecast."""
    extrapolated, asked_layers = [], []
    for case in extrapolation_cases(seed):
        asked: list[int] = []
        with refuse_meters("a peak computed from what forecast_layers returns for the two small models"):
            answer = extrapolate_peak(_small_forecast(case, asked), case.few, case.more, case.layers)
        extrapolated.append(_require_bytes(answer, "the peak in bytes"))
        asked_layers.append(asked)
    return Observation({"extrapolated_bytes": extrapolated, "asked_layers": asked_layers})


@make_check("freed_bytes", ("namespace",))
def check_freed_bytes(freed_bytes: Callable[..., Any], seed: int) -> Observation:
    """Ask about the names of three programs."""
    settings = []
    for case in namespace_cases(seed):
        namespace = case.make_namespace(lesson_device())
        before = dict(namespace)
        answer = _require_dict(freed_bytes(namespace), "a dict of bytes by name")
        if list(map(id, namespace.values())) != list(map(id, before.values())):
            names = f"{len(before)} names before your function, {len(namespace)} after it, or other objects"
            fail(
                "namespace_changed",
                "the namespace as it was",
                names,
                "You delete or replace names of the namespace. Compute what each deletion would free, and leave them.",
            )
        settings.append({str(name): _require_bytes(value, f"bytes of `{name}`") for name, value in answer.items()})
    return Observation({"settings": settings})


@make_check("peak_above_entry", ("step",))
def check_own_meter(peak_above_entry: Callable[..., Any], seed: int) -> Observation:
    """Let the learner's meter measure nine steps, on the CPU even where there is a CUDA device."""
    settings = []
    for case in watched_step_cases(seed):
        with record_watchers(case.make_step()) as (step, record):
            record["peak_bytes"] = _require_bytes(peak_above_entry(step), "the peak in bytes")
        settings.append(record)
    return Observation({"settings": settings})


@make_check("find_cause", ("asked", "total", "free", "own", "allocated", "unallocated"))
def check_out_of_memory(find_cause: Callable[..., Any], seed: int) -> Observation:
    """Ask for the causes of nine out-of-memory messages."""
    answers = []
    for case in out_of_memory_cases(seed):
        answers.append(
            require_word(
                find_cause(case.asked, case.total, case.free, case.own, case.allocated, case.unallocated), CAUSES
            )
        )
    return Observation({"answers": answers})


def _small_forecast(case: ExtrapolationCase, asked: list[int]) -> Callable[[int], int]:
    def forecast_layers(layers: int) -> int:
        expected = f"a forecast for {case.few} and for {case.more} layers, and for no other number"
        if layers == case.layers:
            look_at = (
                "You forecast the large model itself, which may not fit. Compute its peak from the two small ones."
            )
            fail("large_model_forecast", expected, f"a forecast for {layers} layers", look_at)
        if layers not in (case.few, case.more):
            look_at = "You forecast another model than the two small ones. Their difference shows what a layer adds."
            fail("another_model_forecast", expected, f"a forecast for {layers} layers", look_at)
        asked.append(int(layers))
        return case.few_bytes if layers == case.few else case.more_bytes

    return forecast_layers


def _require_bytes(value: object, what: str) -> int | float:
    """Fail unless `value` is a number of bytes that some computer might have."""
    number = require_number(value, what)
    if abs(number) > MOST_BYTES:
        expected = f"{what}, below {MOST_BYTES:.0e}"
        fail(
            "too_large",
            expected,
            f"a number above {MOST_BYTES:.0e}",
            "Your number is larger than any computer's memory. Look for a `**` where you mean `*`.",
        )
    return number


def _require_dict(value: object, what: str) -> Mapping[Any, Any]:
    if value is None:
        fail("returned_none", what, "None", "You return nothing. Look at the end of your function.")
    if not isinstance(value, Mapping):
        fail(
            "wrong_type",
            what,
            type(value).__name__,
            "You return something else than a dict. Return one value for each key.",
        )
    return value
