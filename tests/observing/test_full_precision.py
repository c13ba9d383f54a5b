"""A check observes float32 products in float32, and leaves the learner's setting as it was."""

import pytest
import torch

from grader.observing.full_precision import full_precision


@pytest.fixture(autouse=True)
def restored():
    kept = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(kept)


@pytest.mark.parametrize("setting", ["highest", "high", "medium"])
def test_tf32_is_off_inside_and_restored(setting):
    torch.set_float32_matmul_precision(setting)
    before = torch.backends.cuda.matmul.fp32_precision
    with full_precision():
        assert torch.backends.cuda.matmul.fp32_precision == "ieee"
    assert torch.backends.cuda.matmul.fp32_precision == before
    assert torch.get_float32_matmul_precision() == setting


def test_the_setting_is_restored_after_an_error():
    torch.set_float32_matmul_precision("high")
    with pytest.raises(ZeroDivisionError), full_precision():
        raise ZeroDivisionError
    assert torch.backends.cuda.matmul.fp32_precision == "tf32"
