"""One place decides what the device is, and a lesson sees one GPU unless the user chose."""

import os

import pytest

from grader.gpu_files import CHOICES, gpu_files, has_gpu, is_gpu_visible, keep_one_device


@pytest.fixture(autouse=True)
def no_choice(monkeypatch):
    for name in CHOICES:
        monkeypatch.setenv(name, "")  # so that the end of the test restores it
        monkeypatch.delenv(name)


@pytest.mark.parametrize("driver", ["nvidiactl", "dxg", "kfd"], ids=["Linux", "WSL2", "ROCm"])
def test_each_driver_of_a_device_called_cuda_counts(tmp_path, driver):
    assert not has_gpu(tmp_path)
    (tmp_path / driver).touch()
    assert has_gpu(tmp_path) and is_gpu_visible(tmp_path)
    assert gpu_files(tmp_path) == [str(tmp_path / driver)]


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_hidden_gpu_is_there_and_not_visible(tmp_path, monkeypatch, name, hidden):
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setenv(name, hidden)
    assert has_gpu(tmp_path) and not is_gpu_visible(tmp_path)


def test_a_lesson_sees_the_first_gpu_alone():
    keep_one_device()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_of_the_user_is_kept(monkeypatch, name):
    monkeypatch.setenv(name, "0,1")
    keep_one_device()
    assert {key: os.environ[key] for key in CHOICES if key in os.environ} == {name: "0,1"}
