import pytest

from grader.classroom.base import gpu


@pytest.fixture
def driver(monkeypatch, tmp_path):
    place = tmp_path / "dxg"
    monkeypatch.setattr(gpu, "DRIVERS", (str(tmp_path / "nvidiactl"), str(place)))
    for name in gpu.HIDDEN_BY:
        monkeypatch.delenv(name, raising=False)
    return place


def test_any_driver_is_a_gpu(driver):
    assert not gpu.has_gpu()
    driver.touch()
    assert gpu.has_gpu()


@pytest.mark.parametrize("name", gpu.HIDDEN_BY)
@pytest.mark.parametrize("value", ["", "-1"])
def test_a_hidden_gpu_is_none(driver, monkeypatch, name, value):
    driver.touch()
    monkeypatch.setenv(name, value)
    assert not gpu.has_gpu()
