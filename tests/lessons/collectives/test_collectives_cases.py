"""The cases of lesson 14 are what the lesson says of them."""

import math

import pytest
import torch

from grader.lessons.collectives.costs import ALGORITHMS, cost_cases
from grader.lessons.collectives.reductions import (
    butterfly_cases,
    group_by_ranks,
    ring_cases,
    shard_cases,
    unsupported_ranks,
)

SEEDS = (0, 1, 20_011)


@pytest.mark.parametrize("seed", SEEDS)
def test_costs_are_asked_on_numbers_of_ranks_that_the_lesson_does_not_show(seed):
    for algorithm in ALGORITHMS:
        numbers = {case.world_size for case in cost_cases(seed) if case.algorithm == algorithm}
        assert 8 in numbers and len(numbers) > 2
        is_power = [not number & (number - 1) for number in numbers]
        assert all(is_power) == (algorithm == "butterfly")


@pytest.mark.parametrize("seed", range(12))
def test_costs_tell_what_is_rounded_and_when(seed):
    *others, last = cost_cases(seed)
    assert all(case.tensor_bytes % (4 * case.world_size) == 0 for case in others)
    assert last.algorithm == "ring" and last.tensor_bytes % 4 == 0 and last.tensor_bytes % last.world_size
    trees = [case.world_size for case in others if case.algorithm == "tree"]
    assert any(math.ceil(2 * math.log2(ranks)) != 2 * math.ceil(math.log2(ranks)) for ranks in trees)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cases", [ring_cases, shard_cases])
def test_a_ring_has_even_and_uneven_chunks_and_fewer_elements_than_ranks(cases, seed):
    first, *others = cases(seed)
    assert first.world_size == 4 and first.is_counting and first.elements % 4 == 0
    assert any(case.elements % case.world_size for case in others if case.is_counting)
    assert any(case.elements < case.world_size for case in others)
    assert any(case.world_size in (3, 5) for case in others)
    assert any(len(case.shape) > 1 for case in others)
    assert (1 in {case.world_size for case in others}) == (cases is not shard_cases)


@pytest.mark.parametrize("seed", SEEDS)
def test_butterflies_have_powers_of_two_and_one_number_is_refused(seed):
    assert [number for number, _ in group_by_ranks(butterfly_cases(seed))] == [8, 4, 2]
    assert unsupported_ranks(seed).world_size in (3, 5)


def test_a_hexadecimal_digit_counts_each_of_eight_ranks_exactly():
    inputs = butterfly_cases(0)[0].inputs()
    assert inputs.dtype == torch.float64
    assert f"{int(inputs.sum(0)[0]):x}" == "11111111"
    assert f"{int((inputs.sum(0) + inputs[5] - inputs[2])[0]):x}" == "11211011"


def test_random_cases_are_float32_and_fixed_by_their_seed():
    first, second = ring_cases(3)[2], ring_cases(3)[2]
    assert first.inputs().dtype == torch.float32 and torch.equal(first.inputs(), second.inputs())
    assert not torch.equal(first.inputs()[0], first.inputs()[1])
