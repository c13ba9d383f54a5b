import sys
from types import SimpleNamespace

import pytest
import torch

from grader.meters import device_facts as module

MIB = 2**20


def test_facts_of_a_machine_without_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    facts = module.device_facts()
    assert facts.device == "CPU"
    assert facts.total_bytes is None
    assert repr(facts).startswith(f"CPU, torch {torch.__version__}, {torch.get_num_threads()} CPU threads")


@pytest.fixture
def pretended_device(monkeypatch):
    monkeypatch.setattr(module, "lesson_device", lambda: torch.device("cuda"))
    monkeypatch.setattr(module, "device_name", lambda: "Tesla T4")
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 30 * MIB)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 20 * MIB)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (60 * MIB, 100 * MIB))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid="abc"))


@pytest.mark.usefixtures("pretended_device")
def test_driver_answers_where_nvml_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    facts = module.device_facts()
    assert (facts.total_bytes, facts.occupied_bytes) == (100 * MIB, 40 * MIB)
    assert [line.split()[:2] for line in repr(facts).splitlines()[1:]] == [
        ["total", "100.0"],
        ["occupied", "40.0"],
        ["reserved", "30.0"],
        ["allocated", "20.0"],
    ]


@pytest.mark.usefixtures("pretended_device")
def test_nvml_is_asked_by_the_identity_of_the_visible_device(monkeypatch):
    asked = []
    nvml = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: asked.append("shut down"),
        nvmlDeviceGetHandleByUUID=lambda uuid: asked.append(uuid),
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=55 * MIB, total=100 * MIB),
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert module.device_facts().occupied_bytes == 55 * MIB
    assert asked == ["GPU-abc", "shut down"]
