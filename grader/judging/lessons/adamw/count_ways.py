"""Ways to count the state of an optimizer: the right one, and those of known mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.lessons.adamw.counted import CountCase
from grader.meters.storages import leaves_in
from grader.units import MIB

Size = tuple[float, float]  # elements, bytes


@dataclass(frozen=True)
class Leaves:
    """What the entries of a state are, and the parameters of the optimizer."""

    tensors: tuple[Tensor, ...]
    numbers: tuple[float, ...] = ()
    parameters: tuple[Tensor, ...] = ()
    is_stepped: bool = True
    is_packed: bool = False
    of_first_group: tuple[Tensor, ...] = ()


def leaves_of(case: CountCase) -> Leaves:
    """Return what the state of a case holds."""
    optimizer = case.make_optimizer()
    leaves = list(leaves_in([list(state.values()) for state in optimizer.state.values()]))
    tensors = tuple(leaf for leaf in leaves if isinstance(leaf, Tensor))
    parameters = tuple(parameter for group in optimizer.param_groups for parameter in group["params"])
    states = [optimizer.state.get(parameter, {}) for parameter in optimizer.param_groups[0]["params"]]
    first = tuple(leaf for leaf in leaves_in(states) if isinstance(leaf, Tensor))
    numbers = tuple(leaf for leaf in leaves if isinstance(leaf, int | float))
    return Leaves(tensors, numbers, parameters, bool(optimizer.state), case.kind == "packed", first)


def right(leaves: Leaves) -> Size:
    """Count each storage once, whole."""
    storages = {tensor.untyped_storage()._cdata: tensor for tensor in leaves.tensors}
    sizes = [(tensor.untyped_storage().nbytes(), tensor.element_size()) for tensor in storages.values()]
    return sum(size // one for size, one in sizes), sum(size for size, _ in sizes)


def _each_entry(leaves: Leaves) -> Size:
    return sum(t.numel() for t in leaves.tensors), sum(t.nbytes for t in leaves.tensors)


def _each_entry_and_number(leaves: Leaves) -> Size:
    """Count as the published function does: `torch.tensor` makes int64 of an int and float32 of a float."""
    elements, size = _each_entry(leaves)
    made = [torch.tensor(number) for number in leaves.numbers]
    return elements + len(made), size + sum(tensor.nbytes for tensor in made)


def _each_storage_whole(leaves: Leaves) -> Size:
    sizes = [(tensor.untyped_storage().nbytes(), tensor.element_size()) for tensor in leaves.tensors]
    return sum(size // one for size, one in sizes), sum(size for size, _ in sizes)


def _each_object(leaves: Leaves) -> Size:
    return _each_entry(Leaves(tuple({id(tensor): tensor for tensor in leaves.tensors}.values())))


def _each_address(leaves: Leaves) -> Size:
    return _each_entry(Leaves(tuple({tensor.data_ptr(): tensor for tensor in leaves.tensors}.values())))


def _storage_of_each_address(leaves: Leaves) -> Size:
    addressed = {tensor.data_ptr(): tensor for tensor in leaves.tensors}
    return _each_storage_whole(Leaves(tuple(addressed.values())))


def _parameters(leaves: Leaves) -> Size:
    return _each_entry(Leaves(leaves.parameters if leaves.is_stepped else ()))


def _estimate(leaves: Leaves) -> Size:
    elements, size = _each_entry(Leaves(leaves.parameters))
    return 2 * elements, 2 * size


def _four_bytes(leaves: Leaves) -> Size:
    elements, _ = right(leaves)
    return elements, 4 * elements


def _numbers_too(leaves: Leaves) -> Size:
    elements, size = right(leaves)
    return elements + len(leaves.numbers), size + 8 * len(leaves.numbers)


def _elements_of_objects(leaves: Leaves) -> Size:
    return _each_object(leaves)[0], right(leaves)[1]


def _elements_of_entries(leaves: Leaves) -> Size:
    return _each_entry(leaves)[0], right(leaves)[1]


def _last_view(leaves: Leaves) -> Size:
    """Count of each storage the last tensor that is a view of it."""
    return _each_entry(Leaves(tuple({t.untyped_storage()._cdata: t for t in leaves.tensors}.values())))


def _first_view(leaves: Leaves) -> Size:
    return _last_view(Leaves(leaves.tensors[::-1]))


def _elements_of_last_view(leaves: Leaves) -> Size:
    return _last_view(leaves)[0], right(leaves)[1]


def _elements_of_first_view(leaves: Leaves) -> Size:
    return _first_view(leaves)[0], right(leaves)[1]


def _quarter_of_bytes(leaves: Leaves) -> Size:
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in leaves.tensors}
    return sum(size // 4 for size in storages.values()), sum(storages.values())


def _names_of_torch(leaves: Leaves) -> Size:
    return (0, 0) if leaves.is_packed else right(leaves)


def _first_group(leaves: Leaves) -> Size:
    return right(Leaves(leaves.of_first_group))


def _floating(leaves: Leaves) -> Size:
    return right(Leaves(tuple(tensor for tensor in leaves.tensors if tensor.is_floating_point())))


def _parameters_too(leaves: Leaves) -> Size:
    elements, size = right(leaves)
    own, own_size = _each_entry(Leaves(leaves.parameters))
    return elements + own, size + own_size


def _formula(leaves: Leaves) -> Size:
    elements = 2 * _parameters(leaves)[0] + (len(leaves.parameters) if leaves.is_stepped else 0)
    return elements, 4 * elements


def _without_counters(leaves: Leaves) -> Size:
    return right(Leaves(tuple(tensor for tensor in leaves.tensors if tensor.dim())))


def _swapped(leaves: Leaves) -> Size:
    return right(leaves)[1], right(leaves)[0]


def _in_unit(unit: float) -> Callable[[Leaves], Size]:
    return lambda leaves: (right(leaves)[0], right(leaves)[1] / unit)


_VIEWS = "tensors that are views of one storage: it is there once, gaps included"
KNOWN: tuple[tuple[str, Callable[[Leaves], Size], str], ...] = (
    ("numbers_counted", _each_entry_and_number, "entries that are no tensors: torch.is_tensor tells them"),
    ("numbers_counted", _numbers_too, "entries that are no tensors: torch.is_tensor tells them"),
    ("shared_counted_each_time", _each_entry, "the code book that all parameters share: how often is it there?"),
    ("storage_counted_for_each_view", _each_storage_whole, _VIEWS),
    ("address_of_view_for_storage", _storage_of_each_address, "data_ptr(): a tensor has one, and so has its storage"),
    ("parameters_counted", _parameters, "the keys of the state are parameters: what is kept stands in its values"),
    ("estimated", _estimate, "an estimate: count the tensors that are there"),
    ("views_counted_by_shape", _each_object, "a view is smaller than its storage: untyped_storage() is what is held"),
    ("views_counted_by_shape", _each_address, "a view is smaller than its storage: untyped_storage() is what is held"),
    ("elements_of_views", _elements_of_objects, "elements are counted by storage too: its bytes over element_size()"),
    ("elements_of_views", _elements_of_entries, "elements are counted by storage too: its bytes over element_size()"),
    ("one_view_for_storage", _last_view, "a storage is counted once: with all its bytes, not with those of one view"),
    ("one_view_for_storage", _first_view, "a storage is counted once: with all its bytes, not with those of one view"),
    (
        "elements_of_one_view",
        _elements_of_last_view,
        "elements: the bytes of the storage over element_size()",
    ),
    (
        "elements_of_one_view",
        _elements_of_first_view,
        "elements: the bytes of the storage over element_size()",
    ),
    ("four_bytes_for_elements", _quarter_of_bytes, "elements: a 16-bit number takes 2 bytes, an 8-bit number 1"),
    (
        "names_assumed",
        _names_of_torch,
        "names of entries: another optimizer has others, so go through all of them",
    ),
    ("first_group_only", _first_group, "the groups: an optimizer may have several, and its state holds those of all"),
    ("integers_left_out", _floating, "entries of integers: quantized moments are state too"),
    ("parameters_added", _parameters_too, "the parameters: they are no state, count what is kept beside them"),
    ("formula_for_all", _formula, "a formula for AdamW: count the tensors that are there"),
    ("four_bytes_assumed", _four_bytes, "formats differ: element_size() knows how many bytes a number takes"),
    ("counters_left_out", _without_counters, "tensors of one number: a step counter is state too"),
    ("elements_and_bytes_swapped", _swapped, "the order of the two results: elements first, bytes second"),
    ("mebibytes_for_bytes", _in_unit(MIB), "the unit: bytes are asked for, not MiB"),
    ("megabytes_for_bytes", _in_unit(10**6), "the unit: bytes are asked for, not MB"),
)
