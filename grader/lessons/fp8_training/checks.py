"""Checks of lesson 20: training with 8-bit floating point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.lessons.fp8_training.casts import cast_cases
from grader.lessons.fp8_training.forms import fp8_form_cases, run_form
from grader.lessons.fp8_training.linears import linear_cases, observe_saved, run_linears, saved_case
from grader.lessons.fp8_training.products import product_cases, run_product
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.running import make_check

PARTS = ("scale", "flushed", "share")


@make_check("predict_cast", ("sigma", "largest", "dtype"))
def check_predicted_cast(predict_cast: Callable[..., Any], seed: int) -> Observation:
    """Ask for the scale, the largest value that is lost, and the share of such values."""
    answers = []
    for case in cast_cases(seed):
        answer = predict_cast(case.sigma, case.largest, case.format)
        if not isinstance(answer, tuple | list) or len(answer) != len(PARTS):
            measured = f"a value of type {type(answer).__name__}"
            look_at = "You return something other than three numbers. Return (scale, flushed, share)."
            fail("no_three_numbers", "three numbers", measured, look_at)
        numbers = zip(PARTS, answer, strict=True)
        answers.append({name: float(require_number(number, f"the {name}")) for name, number in numbers})
    return Observation({"answers": answers})


@make_check("row_scaled_product", ("a", "b"))
def check_row_scaled_product(row_scaled_product: Callable[..., Any], seed: int) -> Observation:
    """Ask for four products."""
    runs = [run_product(row_scaled_product, case) for case in product_cases(seed)]
    in_fp8 = [products for _, products in runs]
    return Observation({"in_fp8": in_fp8}, {str(index): product for index, (product, _) in enumerate(runs)})


@make_check("fp8_linear", ("inputs", "weight"))
def check_fp8_linear(fp8_linear: Callable[..., Any], seed: int) -> Observation:
    """Run forward and backward in three settings."""
    runs, in_fp8 = zip(*run_linears(fp8_linear, linear_cases(seed)), strict=True)
    values = {f"{name}.{index}": run[name] for index, run in enumerate(runs) for name in run}
    return Observation({"in_fp8": list(in_fp8)}, values)


@make_check("fp8_linear", ("inputs", "weight"))
def check_fp8_saved(fp8_linear: Callable[..., Any], seed: int) -> Observation:
    """Look at what is kept for backward."""
    return Observation(observe_saved(fp8_linear, saved_case(seed)))


@make_check("fp8_with_accelerate", ("model", "dataset", "rows", "learning_rate"))
def check_fp8_accelerate(fp8_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train two classifiers with Accelerate."""
    runs, records = zip(*(run_form(fp8_with_accelerate, case) for case in fp8_form_cases(seed)), strict=True)
    return Observation({"records": list(records)}, {str(index): run["movement"] for index, run in enumerate(runs)})
