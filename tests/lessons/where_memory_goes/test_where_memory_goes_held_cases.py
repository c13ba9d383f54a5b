"""The cases of lesson 01 about memory that is held are what the lesson says of them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
import torch

from grader.judging.lessons.where_memory_goes.left_alive import freed_by_names, tensors_of
from grader.judging.lessons.where_memory_goes.occupied import occupied_answer
from grader.judging.lessons.where_memory_goes.own_meter import TABLE
from grader.lessons.where_memory_goes.left_alive import NamespaceCase, namespace_cases
from grader.lessons.where_memory_goes.occupied import occupied_cases
from grader.lessons.where_memory_goes.own_meter import watched_step_cases
from grader.meters.storages import tensors_in
from grader.units import MIB

SEEDS = (0, 20_011)


@pytest.fixture
def small_heap() -> Iterator[None]:
    """A collection looks at the objects of the test alone."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def freed_by_deleting(case: NamespaceCase, name: str) -> int:
    """Delete one name of a fresh namespace, and count the storages that really die."""
    namespace = case.make_namespace()
    alive = {}
    for tensor in (found for value in namespace.values() for found in tensors_of(value)):
        storage = tensor.untyped_storage()
        alive[storage._cdata] = (weakref.ref(storage), storage.nbytes())
    del tensor, storage
    del namespace[name]
    gc.collect()
    return sum(bytes_count for reference, bytes_count in alive.values() if reference() is None)


@pytest.mark.parametrize("number", range(3))
@pytest.mark.usefixtures("small_heap")
def test_deleting_a_name_frees_what_the_reference_returns(number: int) -> None:
    case = namespace_cases(20_011)[number]
    reference = freed_by_names(case.make_namespace())
    assert {name: freed_by_deleting(case, name) for name in reference} == reference


@pytest.mark.parametrize("seed", SEEDS)
def test_no_tensor_of_a_namespace_has_a_graph(seed: int) -> None:
    for case in namespace_cases(seed):
        assert all(tensor.grad_fn is None for tensor in tensors_in(case.make_namespace()))


@pytest.mark.parametrize("seed", SEEDS)
def test_namespaces_have_views_that_are_smaller_and_larger_than_their_storage(seed: int) -> None:
    script, fine_tuning, _ = (case.make_namespace() for case in namespace_cases(seed))
    row, padding = script["first_row"], fine_tuning["padding"]
    assert row.nbytes < row.untyped_storage().nbytes()
    assert padding.nbytes > padding.untyped_storage().nbytes()


@pytest.mark.parametrize("seed", SEEDS)
def test_an_optimizer_keeps_its_model_alive_and_a_checkpoint_too(seed: int) -> None:
    script, fine_tuning, _ = (freed_by_names(case.make_namespace()) for case in namespace_cases(seed))
    assert script["model"] == 0 < script["optimizer"]
    assert fine_tuning["checkpoint"] == 0 < fine_tuning["encoder"]


def test_sizes_differ_from_seed_to_seed() -> None:
    for cases in (namespace_cases, watched_step_cases):
        sizes = [tuple((case.rows, case.width) for case in cases(seed)) for seed in range(20)]
        assert len(set(sizes)) == 20


@pytest.mark.parametrize("seed", SEEDS)
def test_one_step_allocates_nothing_and_the_largest_holds_at_least_a_mebibyte(seed: int) -> None:
    peaks = TABLE.truths(seed)
    assert sorted(peaks)[0] == 0 < sorted(peaks)[1]
    assert max(peaks) > MIB


@pytest.mark.parametrize("seed", SEEDS)
def test_readings_are_possible_ones(seed: int) -> None:
    for case in occupied_cases(seed):
        assert 0 < case.allocated <= case.reserved < case.occupied < case.total


@pytest.mark.parametrize("seed", SEEDS)
def test_one_device_has_no_cache_one_a_large_one_and_one_is_nearly_full(seed: int) -> None:
    _, fresh, cached, full = occupied_cases(seed)
    assert fresh.allocated == fresh.reserved
    assert cached.reserved > 4 * cached.allocated
    assert full.total - full.occupied < 0.15 * full.total


def test_published_readings_of_bert_large() -> None:
    answer = occupied_answer(occupied_cases(0)[0])
    assert answer["outside"] == 1343 * MIB
    assert 9 * MIB < 2631 * MIB - answer["after_empty_cache"] < 10 * MIB


def test_building_cases_leaves_the_random_state_alone() -> None:
    state = torch.get_rng_state()
    for case in namespace_cases(0):
        case.make_namespace()
    for step in watched_step_cases(0):
        step.make_step()
    assert torch.equal(torch.get_rng_state(), state)
