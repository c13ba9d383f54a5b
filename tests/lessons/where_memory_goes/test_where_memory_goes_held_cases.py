"""The cases of lesson 01 about memory that is held are what the lesson says of them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from grader.judging.lessons.where_memory_goes.left_alive import freed_by_names, tensors_of
from grader.judging.lessons.where_memory_goes.own_meter import TABLE
from grader.lessons.where_memory_goes.left_alive import NamespaceCase, namespace_cases
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
