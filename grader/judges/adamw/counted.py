"""Verdict on a function that counts the state of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.cases.adamw import CountCase, count_cases
from grader.meters.storages import leaves_in
from grader.observation import Observation
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0

Size = tuple[float, float]  # elements, bytes


@dataclass(frozen=True)
class Leaves:
    """What the entries of a state are, and the parameters of the optimizer."""

    tensors: tuple[Tensor, ...]
    numbers: tuple[float, ...] = ()
    parameters: tuple[Tensor, ...] = ()
    is_stepped: bool = True


def judge_state_count(observation: Observation, seed: int) -> Verdict:
    """Compare elements and bytes of every state, and tell copies."""
    cases = count_cases(seed)
    answers = [(float(elements), float(size)) for elements, size in observation.facts["counted"]]
    for case, answer in zip(cases, answers, strict=True):
        wanted = right(_leaves(case))
        if answer != wanted:
            code, look_at = _recognise(cases, answers)
            return Verdict(code, f"{_say(wanted)} for {_NAMES[case.kind]}", _say(answer), look_at)
    for case, copied_bytes in zip(cases, observation.facts["copied_bytes"], strict=True):
        if copied_bytes > 0:
            measured = f"{format_bytes(copied_bytes)} allocated while the function counts"
            look_at = "a tensor knows its size: which line makes a new one of it?"
            return Verdict("state_copied", f"nothing allocated for {_NAMES[case.kind]}", measured, look_at)
    measured = f"{len(cases)} states, nothing copied; AdamW {_say(answers[0])}"
    return Verdict(PASSED, f"elements and bytes of {len(cases)} states", measured)


_NAMES = {
    "adamw": "AdamW",
    "packed": "an optimizer with shared and packed state",
    "fresh": "an optimizer before its first step",
    "sgd": "SGD without momentum",
}


def _leaves(case: CountCase) -> Leaves:
    optimizer = case.make_optimizer()
    leaves = list(leaves_in([list(state.values()) for state in optimizer.state.values()]))
    tensors = tuple(leaf for leaf in leaves if isinstance(leaf, Tensor))
    parameters = tuple(parameter for group in optimizer.param_groups for parameter in group["params"])
    numbers = tuple(leaf for leaf in leaves if isinstance(leaf, int | float))
    return Leaves(tensors, numbers, parameters, bool(optimizer.state))


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


def _without_counters(leaves: Leaves) -> Size:
    return right(Leaves(tuple(tensor for tensor in leaves.tensors if tensor.dim())))


def _swapped(leaves: Leaves) -> Size:
    return right(leaves)[1], right(leaves)[0]


def _in_unit(unit: float) -> Callable[[Leaves], Size]:
    return lambda leaves: (right(leaves)[0], right(leaves)[1] / unit)


_VIEWS = "tensors that are views of one storage: it is there once, gaps included"
_KNOWN: tuple[tuple[str, Callable[[Leaves], Size], str], ...] = (
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
    ("four_bytes_assumed", _four_bytes, "formats differ: element_size() knows how many bytes a number takes"),
    ("counters_left_out", _without_counters, "tensors of one number: a step counter is state too"),
    ("elements_and_bytes_swapped", _swapped, "the order of the two results: elements first, bytes second"),
    ("mebibytes_for_bytes", _in_unit(MIB), "the unit: bytes are asked for, not MiB"),
    ("megabytes_for_bytes", _in_unit(10**6), "the unit: bytes are asked for, not MB"),
)


def _recognise(cases: Sequence[CountCase], answers: Sequence[Size]) -> tuple[str, str]:
    states = [_leaves(case) for case in cases]
    for code, count, look_at in _KNOWN:
        if all(_is_near(answer, count(state)) for answer, state in zip(answers, states, strict=True)):
            return code, look_at
    if all(
        _is_near(answer, right(_leaves(case))) for answer, case in zip(answers, count_cases(VISIBLE_SEED), strict=True)
    ):
        return "visible_case_hard_coded", "numbers that are right for other optimizers: what do they depend on?"
    if len(set(answers)) == 1:
        return "same_for_all", "the answer is the same for every optimizer: what does it read?"
    return UNRECOGNISED, "one entry of the state at a time: is it a tensor, and has its storage been counted?"


def _is_near(answer: Size, value: Size) -> bool:
    return all(abs(one - other) <= 1e-6 * abs(other) for one, other in zip(answer, value, strict=True))


def _say(size: Size) -> str:
    return f"{size[0]:,.10g} elements and {size[1]:,.10g} bytes"
