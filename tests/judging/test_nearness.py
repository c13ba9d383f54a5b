"""An answer equals a value part by part, exactly or within a tolerance."""

from __future__ import annotations

import math

import pytest
import torch

from grader.judging.nearness import is_near, within

NAN, INFINITY = math.nan, math.inf


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (1, 1.0),
        (2**70, 2**70),
        (NAN, NAN),
        (-INFINITY, -INFINITY),
        (None, None),
        ("fp16", "fp16"),
        ([1, [2, NAN]], (1, [2.0, NAN])),
        ({"a": 1, "b": [None]}, {"b": [None], "a": 1}),
        (torch.tensor([1.0, NAN, INFINITY]), torch.tensor([1.0, NAN, INFINITY], dtype=torch.float64)),
        (torch.tensor([2]), torch.tensor([2.0])),
    ],
)
def test_equal_values(answer, value):
    assert is_near(answer, value)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (1, 1.0000001),
        (2**70, 2**70 + 1),
        (NAN, 0.0),
        (INFINITY, -INFINITY),
        (1e308, INFINITY),
        (True, 1),
        (0, False),
        (None, 0),
        ("1", 1),
        ([1], [1, 2]),
        ("ab", ["a", "b"]),
        ([1], 1),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, [1]),
        (torch.ones(2), torch.ones(2, 1)),
        (1.0, torch.tensor(1.0)),
        ([1.0], torch.ones(1)),
        (torch.tensor([NAN]), torch.tensor([0.0])),
    ],
)
def test_unequal_values(answer, value):
    assert not is_near(answer, value)


def test_tolerances_hold_for_each_number():
    assert within(relative=1e-3)([1.0005, 2000.0], [1.0, 2001.0])
    assert not within(relative=1e-3)([1.002, 2000.0], [1.0, 2000.0])
    assert within(absolute=0.1)(torch.tensor([0.05]), torch.tensor([0.0]))
    assert not within(absolute=0.1)(torch.tensor([0.05, 0.2]), torch.tensor([0.0, 0.0]))
    assert not within(relative=1e-3)(1e308, INFINITY)
    assert not within(absolute=1.0)(True, False)
