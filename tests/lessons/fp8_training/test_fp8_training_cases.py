"""The cases of lesson 20 distinguish what they are meant to."""

from __future__ import annotations

import pytest
import torch

from grader.judging.lessons.fp8_training.casts import predict_cast
from grader.judging.lessons.fp8_training.linears import fp8_linear
from grader.judging.lessons.fp8_training.products import row_scaled_product
from grader.lessons.fp8_training.casts import cast_cases
from grader.lessons.fp8_training.linears import linear_cases
from grader.lessons.fp8_training.products import product_cases


@pytest.mark.parametrize("seed", range(5))
def test_the_predicted_threshold_is_that_of_the_cast(seed: int) -> None:
    for case in cast_cases(seed):
        scale, flushed, _ = predict_cast(case.sigma, case.largest, case.format)
        around = torch.tensor([flushed * 0.999, flushed * 1.001], dtype=torch.float64)
        assert ((around * scale).to(case.format) == 0).tolist() == [True, False]


@pytest.mark.parametrize("seed", range(20))
def test_the_share_is_neither_zero_nor_one(seed: int) -> None:
    for case in cast_cases(seed):
        share = predict_cast(case.sigma, case.largest, case.format)[2]
        assert 1e-4 < share < 0.99


@pytest.mark.parametrize("seed", range(5))
def test_row_scales_keep_every_row(seed: int) -> None:
    for case in product_cases(seed):
        a, b = case.draw()
        wanted, found = a @ b, row_scaled_product(a, b)
        rows = wanted.norm(dim=1) > 0
        errors = (found - wanted).norm(dim=1)[rows] / wanted.norm(dim=1)[rows]
        assert float(errors.max()) < 0.2


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_spreads_further_than_e4m3_reaches(seed: int) -> None:
    gradient = linear_cases(seed)[1].draw()["gradient"].float().abs()
    lost = gradient < gradient.max() * 2**-10 / 448
    assert 0.05 < float(lost.float().mean()) < 0.8


def test_a_zero_gradient_gives_zeros() -> None:
    values = fp8_linear(**linear_cases(0)[2].draw())
    assert not values["inputs"].any() and not values["weight"].any() and values["outputs"].isfinite().all()
