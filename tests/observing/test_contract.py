from __future__ import annotations

import linecache
from collections.abc import Callable

import numpy
import pytest
import torch

from grader.observing.contract import explain_exception, require_function, require_number, require_tensor
from grader.verdict import CheckFailed, NotSolvedYet


def failure_of(action: Callable[[], object]) -> CheckFailed:
    with pytest.raises(CheckFailed) as caught:
        action()
    return caught.value


def explained(answer: Callable[[], object]) -> CheckFailed:
    def call() -> None:
        try:
            answer()
        except Exception as error:
            explain_exception(error, "train")

    return failure_of(call)


@pytest.mark.parametrize(
    "answer",
    [
        lambda model: None,
        lambda model, k, extra: None,
        lambda model, *, k: None,
        lambda: None,
    ],
)
def test_a_wrong_signature_is_named_with_the_right_one(answer: Callable[..., object]) -> None:
    failure = failure_of(lambda: require_function(answer, "train", ("model", "k")))
    assert failure.code == "wrong_signature"
    assert "train(model, k)" in failure.expected


@pytest.mark.parametrize("answer", [None, 3, "train", torch.zeros(2)])
def test_what_is_not_a_function_is_named(answer: object) -> None:
    failure = failure_of(lambda: require_function(answer, "train", ("model", "k")))
    assert (failure.code, failure.measured) == ("not_a_function", type(answer).__name__)


@pytest.mark.parametrize(
    "answer", [lambda a, b: None, lambda *all_of_them: None, lambda a, b, c=1: None, max, dict.get]
)
def test_whatever_can_be_called_as_asked_is_accepted(answer: Callable[..., object]) -> None:
    require_function(answer, "train", ("model", "k"))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "returned_none"),
        ("3", "wrong_type"),
        (True, "wrong_type"),
        (torch.zeros(2), "wrong_type"),
        (numpy.zeros(2), "wrong_type"),
        (float("nan"), "not_finite"),
        (torch.tensor(float("inf")), "not_finite"),
    ],
)
def test_what_is_no_finite_number_is_told_with_what_was_asked_for(value: object, code: str) -> None:
    failure = failure_of(lambda: require_number(value, "the mean loss"))
    assert failure.code == code
    assert "the mean loss" in failure.expected


@pytest.mark.parametrize("value", [3, 3.0, torch.tensor(3), torch.tensor([3.0]), numpy.float32(3), numpy.int64(3)])
def test_numbers_of_every_kind_are_accepted(value: object) -> None:
    assert require_number(value, "the mean loss") == 3


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "returned_none"),
        ([1.0, 2.0], "wrong_type"),
        (torch.zeros(3), "wrong_shape"),
        (torch.zeros(2, dtype=torch.float64), "wrong_dtype"),
        (torch.zeros(2, device="meta"), "wrong_device"),
        (torch.tensor([1.0, float("nan")]), "not_finite"),
    ],
)
def test_a_tensor_of_another_kind_is_told(value: object, code: str) -> None:
    assert failure_of(lambda: require_tensor(value, "the gradient", like=torch.zeros(2))).code == code


def test_a_tensor_comes_back_without_its_graph() -> None:
    value = torch.ones(2, requires_grad=True) * 2
    assert not require_tensor(value, "the gradient", like=torch.zeros(2)).requires_grad


def learner_function(source: str) -> Callable[[], object]:
    """Define `train` as a notebook cell does, its lines included."""
    name = "<a cell>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, object] = {"torch": torch}
    exec(compile(source, name, "exec"), scope)
    answer = scope["train"]
    assert callable(answer)
    return answer


def test_an_exception_is_told_with_the_learner_s_own_line() -> None:
    failure = explained(learner_function("def train():\n    ready = 1\n    torch.zeros(2) @ torch.zeros(3)\n"))
    assert failure.code == "raised_runtime_error"
    assert failure.look_at == "line 3 of train: torch.zeros(2) @ torch.zeros(3)"
    assert "RuntimeError" in failure.measured


def test_an_exception_inside_a_library_is_told_at_the_call_into_it() -> None:
    failure = explained(learner_function("import json\ndef train():\n    return json.loads('{')\n"))
    assert (failure.code, failure.look_at) == (
        "raised_json_decode_error",
        "line 3 of train: return json.loads('{')",
    )


def test_the_stub_is_unsolved_in_one_line() -> None:
    failure = explained(learner_function("def train():\n    # YOUR CODE HERE\n    raise NotImplementedError()\n"))
    assert isinstance(failure, NotSolvedYet)
    assert failure.code == "unsolved"
    assert len(failure.lines()) == 1
    assert "train" in failure.lines()[0]


def test_what_a_library_has_not_implemented_is_no_stub() -> None:
    source = "from torch.utils.data import Dataset\ndef train():\n    return Dataset()[0]\n"
    assert explained(learner_function(source)).code == "raised_not_implemented_error"


@pytest.mark.parametrize("kind", ["torch.OutOfMemoryError", "MemoryError"])
def test_running_out_of_memory_names_the_line_and_what_else_holds_memory(kind: str) -> None:
    failure = explained(learner_function(f"def train():\n    raise {kind}('tried to allocate 2 GiB')\n"))
    assert failure.code == "out_of_memory"
    assert "2 GiB" in failure.measured
    assert "line 2 of train" in failure.look_at
    assert "other notebooks" in failure.look_at
