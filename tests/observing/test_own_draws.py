"""A check draws the same numbers whatever ran before it, and leaves the learner's generators as they were."""

from __future__ import annotations

import random

import numpy
import pytest
import torch

from grader.observing.own_draws import own_draws


def draws() -> tuple[float, float, float]:
    return float(torch.rand(())), float(numpy.random.rand()), random.random()


def test_draws_in_the_block_depend_on_its_seed_alone() -> None:
    found = []
    for before in (0, 3):
        for _ in range(before):
            draws()
        with own_draws(2**31 - 1):
            found.append(draws())
    assert found[0] == found[1]


def test_draws_after_the_block_are_those_of_a_run_without_it() -> None:
    states = torch.get_rng_state(), numpy.random.get_state(), random.getstate()
    expected = draws()
    torch.set_rng_state(states[0])
    numpy.random.set_state(states[1])
    random.setstate(states[2])
    with pytest.raises(ValueError, match="an answer's"), own_draws(1):
        draws()
        raise ValueError("an answer's")
    assert draws() == expected
