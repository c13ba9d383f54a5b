"""A check runs under PyTorch's defaults and leaves the learner's settings as they were."""

import pytest
import torch

from grader.observing.default_settings import default_settings


@pytest.fixture(autouse=True)
def restored():
    kept = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(kept)
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("setting", ["highest", "high", "medium"])
def test_tf32_is_off_inside_and_restored(setting):
    torch.set_float32_matmul_precision(setting)
    before = torch.backends.cuda.matmul.fp32_precision
    with default_settings():
        assert torch.backends.cuda.matmul.fp32_precision == "ieee"
    assert torch.backends.cuda.matmul.fp32_precision == before
    assert torch.get_float32_matmul_precision() == setting


def test_dtype_and_gradient_mode_are_restored_after_an_error():
    torch.set_default_dtype(torch.float64)
    with torch.no_grad():
        with pytest.raises(ZeroDivisionError), default_settings():
            assert torch.zeros(1).dtype == torch.float32
            assert torch.is_grad_enabled()
            raise ZeroDivisionError
        assert not torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float64
