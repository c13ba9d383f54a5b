"""What a learner's checkpoint may not do is seen and said, with the errors that torch really raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import grader
from grader.lessons.gradient_checkpointing.autograd_errors import named_autograd_errors
from grader.lessons.gradient_checkpointing.block_runs import count_leaves, record_blocks
from grader.lessons.gradient_checkpointing.refusals import refuse_checkpointing
from grader.observing.truths import require_names
from grader.verdict import CheckFailed


@pytest.fixture(autouse=True)
def no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAN_TRAINING_ATTEMPTS", "off")


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(CheckFailed) as failed:
        action()
    return failed.value.code


@pytest.mark.parametrize("is_reentrant", [True, False])
def test_both_checkpoints_of_torch_are_refused_and_work_again_afterwards(is_reentrant: bool) -> None:
    block, inputs = nn.Linear(3, 3), torch.ones(2, 3, requires_grad=True)

    def run() -> None:
        with refuse_checkpointing():
            checkpoint(block, inputs, use_reentrant=is_reentrant)

    assert code_of(run) == "library_checkpoint_used"
    checkpoint(block, inputs, use_reentrant=is_reentrant).sum().backward()
    assert block.weight.grad is not None


def test_the_sequential_checkpoint_is_refused_too() -> None:
    blocks = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    with refuse_checkpointing():
        assert (
            code_of(lambda: checkpoint_sequential(blocks, 2, torch.ones(2, 3), use_reentrant=False))
            == "library_checkpoint_used"
        )


def in_place() -> None:
    inputs = torch.ones(2, requires_grad=True) * 1
    outputs = inputs * inputs
    inputs.add_(1)
    outputs.sum().backward()


def second_backward() -> None:
    outputs = torch.ones(2, requires_grad=True).exp().sum()
    outputs.backward()
    outputs.backward()


def too_few_gradients() -> None:
    class TwoArguments(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, number: int, inputs: Tensor) -> Tensor:
            return inputs * number

        @staticmethod
        def backward(ctx: Any, output_gradient: Tensor) -> Tensor:
            return output_gradient

    TwoArguments.apply(2, torch.ones(2, requires_grad=True)).sum().backward()


def gradients_in_another_order() -> None:
    class TwoTensors(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, inputs: Tensor, weight: Tensor) -> Tensor:
            return inputs + weight.sum()

        @staticmethod
        def backward(ctx: Any, output_gradient: Tensor) -> tuple[Tensor, Tensor]:
            return torch.ones(5, 7), output_gradient

    TwoTensors.apply(torch.ones(2, requires_grad=True), torch.ones(5, 7, requires_grad=True)).sum().backward()


ERRORS: dict[str, Callable[[], object]] = {
    "input_changed_in_place": in_place,
    "integer_input_differentiated": lambda: torch.ones(2, dtype=torch.long).requires_grad_(),
    "gradient_of_fixed_tensor": lambda: torch.autograd.grad(torch.ones(2, requires_grad=True).sum(), torch.ones(2)),
    "recomputed_without_graph": lambda: torch.ones(2).sum().backward(),
    "gradients_miscounted": too_few_gradients,
    "gradients_in_another_order": gradients_in_another_order,
    "graph_used_twice": second_backward,
    "recomputed_from_another_tensor": lambda: torch.autograd.grad(
        torch.ones(2, requires_grad=True).sum(), torch.ones(2, requires_grad=True)
    ),
    "block_given_too_much": lambda: nn.Sequential(nn.Tanh())(torch.ones(2), torch.ones(2)),
}


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_of_autograd_has_a_code_of_its_own(code: str) -> None:
    def run() -> None:
        with named_autograd_errors():
            ERRORS[code]()

    assert code_of(run) == code


def test_another_error_stays_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="elsewhere"), named_autograd_errors():
        raise RuntimeError("elsewhere")


def test_runs_are_counted_before_and_within_backward() -> None:
    block, inputs = nn.Linear(3, 3), torch.ones(2, 3)
    with record_blocks([block, block]) as record:
        outputs = checkpoint(block, checkpoint(block, inputs, use_reentrant=False), use_reentrant=False)
        record.is_backward = True
        outputs.sum().backward()
    assert record.forwards == [0, 0]
    assert record.recomputed == [0, 0]


def test_leaves_of_a_graph_are_counted() -> None:
    block = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    assert count_leaves(block(torch.ones(2, 3)), block.parameters()) == 4
    assert count_leaves(block[1](torch.ones(2, 3)), block.parameters()) == 2
    assert count_leaves(torch.ones(2, 3), block.parameters()) == 0


def test_names_are_read_from_any_collection_and_unknown_ones_are_refused() -> None:
    assert require_names(("b", "a", "b"), "abc", "letters") == ["a", "b"]
    assert code_of(lambda: require_names(["d"], "abc", "letters")) == "unknown_name"
    assert code_of(lambda: require_names("abc", "abc", "letters")) == "wrong_type"
    assert code_of(lambda: require_names(None, "abc", "letters")) == "returned_none"


@pytest.mark.parametrize(
    ("check", "answer", "code"),
    [
        ("check_segment_peak", lambda p, b, i, n, k: None, "returned_none"),
        ("check_segment_peak", lambda p, b, i, n, k: "68 MiB", "wrong_type"),
        ("check_checkpoint_gradients", lambda block, inputs: None, "returned_none"),
        ("check_checkpoint_gradients", lambda block, inputs: [inputs], "wrong_type"),
        ("check_checkpoint_gradients", lambda block, inputs: block(inputs).sum(), "wrong_shape"),
        ("check_checkpoint_peak", lambda block, inputs: None, "returned_none"),
        ("check_budget_gradients", lambda blocks, inputs, budget: None, "returned_none"),
        ("check_budget_gradients", lambda blocks, inputs, budget: {1, 3}, "wrong_type"),
        ("check_budget_peak", lambda blocks, inputs, budget: inputs, "output_returned"),
        ("check_budget_peak", lambda blocks, inputs, budget: lambda states: None, "returned_none"),
        ("check_found_faults", lambda checkpoint: {"nothing"}, "unknown_name"),
        ("check_found_faults", 3, "not_a_function"),
    ],
)
def test_bad_answers_get_one_clear_message(check: str, answer: Any, code: str) -> None:
    assert code_of(lambda: getattr(grader, check)(answer)) == code
