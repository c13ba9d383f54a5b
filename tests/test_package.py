"""What `import grader` gives, and what it needs."""

import subprocess
import sys

import pytest

import grader


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_import_needs_neither_torch_nor_nbgrader():
    code = "import sys, grader; print(sorted({'torch', 'nbgrader', 'transformers'} & set(sys.modules)))"
    assert run_python(code).stdout.strip() == "[]"


@pytest.mark.parametrize("name", grader.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name):
    value = getattr(grader, name)
    assert value.__doc__


def test_a_missing_package_is_named_with_the_command():
    code = "import sys; sys.modules['torch'] = None\nimport grader\ngrader.measure_peak_memory"
    said = run_python(code).stderr
    assert "needs the package 'torch'" in said
    assert "pip install 'lean-training[train]'" in said


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"dir\(grader\) lists"):
        _ = grader.measure_everything


@pytest.mark.parametrize("first", ["import torch; from grader import MIB", "from grader import MIB; import torch"])
def test_a_notebook_that_imports_transformers_after_the_package_shows_no_message_of_a_library(first):
    assert run_python(f"{first}; from transformers import Trainer").stderr == ""
