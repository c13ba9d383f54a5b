"""The first code cell of a released lesson: silent at home, and clear on Colab."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types

import pytest

from grader.authoring.header import set_up_cell
from grader.authoring.repository import RepositoryAddress

ADDRESS = RepositoryAddress("someone/course", "main")


@pytest.fixture
def pip_calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Imitate Colab with a pip that fails; return what it is asked to do."""
    calls: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, returncode=1, stderr="ERROR: no network")

    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_elsewhere_it_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    exec(set_up_cell(ADDRESS), {})
    assert capsys.readouterr().out == ""


def test_on_colab_a_failed_installation_says_what_pip_said(pip_calls: list[list[str]]) -> None:
    with pytest.raises(
        RuntimeError, match=r"lean-training @ \S+ was not installed. Run this cell again(.|\n)*no network"
    ):
        exec(set_up_cell(ADDRESS), {})
    assert pip_calls[0][-1] == "lean-training @ git+https://github.com/someone/course@main"


@pytest.mark.parametrize("line", ["import bitsandbytes", "from bitsandbytes.optim import AdamW8bit"])
def test_a_lesson_that_needs_what_colab_lacks_installs_it(line: str) -> None:
    assert '"lean-training[eight-bit] @ git+' in set_up_cell(ADDRESS, f"import torch\n{line}\n")
    assert "eight-bit" not in set_up_cell(ADDRESS, f"import torch\n# {line}\n")


def test_a_lesson_with_the_trainer_imports_no_peft_unless_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "peft", raising=False)
    trainer = "from transformers import Trainer\n"
    exec(set_up_cell(ADDRESS, f"from peft import LoraConfig\n{trainer}"), {})
    exec(set_up_cell(ADDRESS, "import torch\n"), {})
    assert "peft" not in sys.modules
    exec(set_up_cell(ADDRESS, trainer), {})
    assert importlib.util.find_spec("peft") is None
    monkeypatch.delitem(sys.modules, "peft")


def test_a_lesson_that_adapts_names_both_extras() -> None:
    assert '"lean-training[eight-bit,adapters] @ git+' in set_up_cell(ADDRESS, "import bitsandbytes\nimport peft\n")


def test_a_lesson_that_imports_torchao_asks_for_it_within_a_wide_range() -> None:
    assert '"lean-training[float8] @ git+' in set_up_cell(ADDRESS, "from torchao.float8 import Float8LinearConfig\n")
