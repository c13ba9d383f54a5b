"""The file that the ranks import: what a function of a notebook uses comes with it."""

from __future__ import annotations

import functools
import inspect
import math
import runpy
from pathlib import Path

import pytest
import torch
import torch.nn.functional as functional
from torch.autograd.function import once_differentiable

from grader.ranks.source import rank_module
from grader.ranks.worker import load_module


def written(cell: dict, name: str):
    return getattr(load_module(rank_module({name: cell[name]}).text, f"{name}.py"), name)


def test_helpers_constants_classes_and_modules_come_along(define) -> None:
    source = """
SCALE, LIMIT = 2.0, float("inf")

class Base:
    def factor(self):
        return SCALE

class Scaler(Base):
    def apply(self, value):
        return helper(value) * self.factor()

def helper(value):
    return math.sqrt(value) if value < LIMIT else value

def use(value, kind=Scaler):
    device  # of the notebook
    return kind().apply(value)
"""
    use = written(define(source, math=math, device=torch.device("cpu")), "use")
    assert use(16.0) == 8.0


def test_a_local_name_is_not_taken_for_one_of_the_notebook(define) -> None:
    source = "def use(rows):\n    batch = rows + 1\n    return [batch for batch in range(batch)], rows.real.mean"
    cell = define(source.replace(", rows.real.mean", ""), batch=torch.ones(3), mean=torch.ones(3))
    assert written(cell, "use")(2) == [0, 1, 2]


def test_an_inner_function_brings_what_it_closes_over(define) -> None:
    cell = define(
        "def make(width):\n    def inner(value):\n        return value * width\n    return inner\ninner = make(3)"
    )
    assert written(cell, "inner")(5) == 15


def test_functions_that_call_each_other_and_themselves(define) -> None:
    source = "def even(n):\n    return n == 0 or odd(n - 1)\n\ndef odd(n):\n    return n > 0 and even(n - 1)"
    assert written(define(source), "even")(6)


def test_decorators_come_along_with_what_they_wrap(define) -> None:
    source = """
def doubled(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return FACTOR * function(*arguments)
    return wrapper

class Rule:
    @torch.no_grad()
    def apply(self, weight):
        return weight * LIMIT

@functools.lru_cache(maxsize=None)
def limit():
    return LIMIT

@doubled
@torch.no_grad()
def use(weight, rule=Rule, context=torch.enable_grad):
    return rule().apply(weight).requires_grad + limit()
"""
    cell = define(source, functools=functools, torch=torch, FACTOR=2, LIMIT=5)
    use = written(cell, "use")
    assert use(torch.ones(1, requires_grad=True)) == 10
    assert cell["use"](torch.ones(1, requires_grad=True)) == 10


def test_a_class_of_static_methods_comes_along(define) -> None:
    source = """
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        return values * FACTOR

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        return gradient * FACTOR

def use(values):
    return torch.autograd.grad(Scaled.apply(values).sum(), values)[0]
"""
    cell = define(source, torch=torch, FACTOR=3.0, once_differentiable=once_differentiable)
    assert written(cell, "use")(torch.ones(2, requires_grad=True)).tolist() == [3.0, 3.0]


def test_names_of_a_decorator_s_own_module_are_not_taken(define) -> None:
    cell = define("@torch.enable_grad()\ndef use(value):\n    return F.relu(value).item()", torch=torch, F=functional)
    assert written(cell, "use")(torch.tensor(-1.0)) == 0


def test_a_decorated_function_of_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\n\n\n@torch.no_grad()\ndef use(value: torch.Tensor):\n    return value + 1\n")
    namespace = runpy.run_path(str(script), run_name="__main__")
    assert written(namespace, "use")(torch.ones(1)) == 2


def test_annotations_need_no_more_than_imports(define) -> None:
    cell = define(
        "def use(rows: Rows, of: torch.Tensor | None = None) -> Rows:\n    return rows", torch=torch, Rows=[object]
    )
    assert written(cell, "use")(3) == 3
    assert "import torch as torch" in rank_module({"use": cell["use"]}).text


def test_names_that_clash_and_lambdas_are_refused(define) -> None:
    first, second = define("def one():\n    return LIMIT", LIMIT=1), define("def two():\n    return LIMIT", LIMIT=2)
    with pytest.raises(TypeError, match="mean different things by the name 'LIMIT'"):
        rank_module({"one": first["one"], "two": second["two"]})
    with pytest.raises(TypeError, match="lambda"):
        written(define("short = lambda value: value"), "short")


def test_module_is_what_was_sent_and_not_what_stands_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "number.py"
    path.write_text("def number():\n    return 1\n")
    number = load_module("def number():\n    return 2\n", str(path)).number
    assert number() == 2
    assert "return 2" in inspect.getsource(number)
