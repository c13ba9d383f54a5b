"""The messages of the exam of lesson 02 name weights and norms, and say what is wrong with either."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import grader
from grader.observing.contract import CheckFailed

CLIPPED, WHOLE = 10, 2  # variants whose groups are three micro-batches; in the first, gradients are clipped at 4.0


def trained(largest: float, kept: Callable[[list[float]], list[float]] = list) -> Callable[..., Any]:
    """Return an answer that clips at `largest`, and returns `kept` of its norms."""

    def train_in_groups(model: Any, loss_function: Any, optimizer: Any, micro_batches: Any, limit: int) -> list[float]:
        norms = []
        for start in range(0, len(micro_batches), limit):
            group = micro_batches[start : start + limit]
            optimizer.zero_grad()
            for inputs, targets in group:
                (loss_function(model(inputs), targets) * len(targets) / sum(len(rows) for rows, _ in group)).backward()
            norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), largest)))
            optimizer.step()
        return kept(norms)

    return train_in_groups


def fail(variant: int, answer: Callable[..., Any]) -> CheckFailed:
    with pytest.raises(CheckFailed) as failure:
        getattr(grader, f"check_exam_groups_v{variant}")(answer)
    return failure.value


def test_a_right_answer_passes() -> None:
    grader.check_exam_groups_v10(trained(4.0))


@pytest.mark.parametrize(
    ("variant", "answer", "code"),
    [
        (CLIPPED, trained(4.0, lambda norms: norms[:-1]), "norms_not_one_for_each_update"),
        (CLIPPED, trained(4.0, lambda norms: [min(norm, 4.0) for norm in norms]), "clipped_norm_returned"),
        (CLIPPED, trained(1.0), "clipped_to_another_norm"),
        (CLIPPED, trained(math.inf), "gradient_not_clipped"),
        (WHOLE, trained(1.0), "gradient_clipped"),
    ],
)
def test_what_is_wrong_with_the_norm_is_named(variant: int, answer: Callable[..., Any], code: str) -> None:
    assert fail(variant, answer).code == code


@pytest.mark.parametrize(
    ("answer", "expected", "measured"),
    [
        (trained(4.0, lambda norms: norms[:-1]), "3 norms", "2 norms"),
        (trained(4.0, lambda norms: [0.0, *norms[1:]]), "norm 0 (counted from 0): ", "norm 0: 0"),
        (trained(2.0), "weight 0 (counted from 0): ", "weight 0: "),
    ],
)
def test_a_message_says_whether_a_weight_or_a_norm_differs(
    answer: Callable[..., Any], expected: str, measured: str
) -> None:
    failure = fail(CLIPPED, answer)
    assert failure.expected.startswith(expected) and failure.measured.startswith(measured)
