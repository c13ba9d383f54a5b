"""Checks of lesson 20: training with 8-bit floating point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from grader.lessons.fp8_training.casts import cast_cases
from grader.lessons.fp8_training.forms import fp8_form_cases, run_form
from grader.lessons.fp8_training.linears import linear_cases, observe_saved, run_linear, saved_case
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
    """Ask for three products."""
    tensors = {}
    for index, case in enumerate(product_cases(seed)):
        product = run_product(row_scaled_product, case)
        expected = f"a tensor of shape {[case.rows, case.columns]}"
        if not isinstance(product, Tensor):
            look_at = "You return no tensor. Return the product."
            fail("no_tensor_returned", expected, f"a value of type {type(product).__name__}", look_at)
        if product.shape != (case.rows, case.columns):
            look_at = "Your product has another shape. Look at the order of the operands."
            fail("another_shape", expected, f"shape {list(product.shape)}", look_at)
        tensors[str(index)] = product.detach().float().cpu()
    return Observation({}, tensors)


@make_check("fp8_linear", ("inputs", "weight"))
def check_fp8_linear(fp8_linear: Callable[..., Any], seed: int) -> Observation:
    """Run forward and backward in three settings."""
    runs = [run_linear(fp8_linear, case) for case in linear_cases(seed)]
    return Observation({}, {f"{name}.{index}": run[name].float() for index, run in enumerate(runs) for name in run})


@make_check("fp8_linear", ("inputs", "weight"))
def check_fp8_saved(fp8_linear: Callable[..., Any], seed: int) -> Observation:
    """Look at what is kept for backward."""
    return Observation(observe_saved(fp8_linear, saved_case(seed)))


@make_check("fp8_with_accelerate", ("model", "dataset", "rows", "learning_rate"))
def check_fp8_accelerate(fp8_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train two classifiers with Accelerate."""
    runs, records = zip(*(run_form(fp8_with_accelerate, case) for case in fp8_form_cases(seed)), strict=True)
    return Observation({"records": list(records)}, {str(index): run["movement"] for index, run in enumerate(runs)})
