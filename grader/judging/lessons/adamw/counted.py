"""Judges a function that counts the state of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import is_near
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.adamw.counted import CountCase, count_cases
from grader.observation import Observation
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, Verdict

Size = tuple[float, float]  # elements, bytes

NAMES = {
    "adamw": "AdamW",
    "packed": "an optimizer with shared and packed state",
    "fresh": "an optimizer before its first step",
    "sgd": "SGD without momentum",
}


def count_state(optimizer: torch.optim.Optimizer) -> Size:
    """Count each storage of a state once, with all its bytes."""
    elements: dict[int, float] = {}
    sizes: dict[int, float] = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                elements[storage.data_ptr()] = storage.nbytes() // entry.element_size()
                sizes[storage.data_ptr()] = storage.nbytes()
    return sum(elements.values()), sum(sizes.values())


# The parts of the reference that misconceptions edit.
START = "elements: dict[int, float] = {}"
STATES = "for state in optimizer.state.values():"
ENTRIES = "for entry in state.values():"
IS_TENSOR = "if torch.is_tensor(entry):"
OUTER, INNER = 12 * " ", 16 * " "
ELEMENTS_OF, SIZES_OF = "elements[storage.data_ptr()]", "sizes[storage.data_ptr()]"
ELEMENTS, BYTES = "storage.nbytes() // entry.element_size()", "= storage.nbytes()\n"
RESULT = "sum(elements.values()), sum(sizes.values())"

EACH_ENTRY = {ELEMENTS_OF: "elements[len(elements)]", SIZES_OF: "sizes[len(sizes)]"}
BY_SHAPE = {ELEMENTS: "entry.numel()", BYTES: "= entry.nbytes\n"}
FIRST_ELEMENTS = {f"{ELEMENTS_OF} = {ELEMENTS}": "elements.setdefault(storage.data_ptr(), entry.numel())"}
FIRST_BYTES = {f"{SIZES_OF} {BYTES}": "sizes.setdefault(storage.data_ptr(), entry.nbytes)\n"}
ALL_PARAMETERS = '[one for group in optimizer.param_groups for one in group["params"]]'
PARAMETERS = f"parameters = {ALL_PARAMETERS}"


def _by(key: str) -> dict[str, str]:
    return {ELEMENTS_OF: f"elements[{key}]", SIZES_OF: f"sizes[{key}]"}


def judge_state_count(observation: Observation, seed: int) -> Verdict:
    """Compare elements and bytes of every state; detect copies and changes."""
    facts, cases = observation.facts, count_cases(seed)
    names = ("is_emptied", "is_changed", "copied_bytes", "moves")
    readings = [Reading(*recorded) for recorded in zip(cases, *(facts[name] for name in names), strict=True)]
    verdict = _judge_all(CHANGES, readings)
    verdict = verdict or _judge_counts(
        seed, [(float(elements), float(size)) for elements, size in facts["counted"]], readings
    )
    verdict = verdict or _judge_all(COPIES, readings)
    if verdict:
        return verdict
    adamw = _say(TABLE.truths(seed)[0])
    return Verdict(
        PASSED, f"elements and bytes of {len(cases)} states", f"{len(cases)} states, nothing copied; AdamW {adamw}"
    )


def _judge_counts(seed: int, counted: Sequence[Size], readings: Sequence[Reading]) -> Verdict | None:
    answer = TABLE.answer(seed, counted)
    if answer.is_right:
        return None
    expected, measured = f"{_say(answer.truth)} for {NAMES[answer.case.kind]}", _say(answer.value)
    verdict = TABLE.judge(answer, expected, measured)
    verdict = verdict or _judge_all(COPIES_COUNTED, readings, expected, measured)
    otherwise = (
        "Your count differs in a way that is not a common one. Go through one entry of the state at a time: is it a "
    )
    otherwise += "tensor, and has its storage been counted already?"
    return verdict or TABLE.explain(answer, expected=expected, measured=measured, otherwise=otherwise)


@dataclass(frozen=True)
class Reading:
    """What a count did to the optimizer that it read.

    Attributes:
        case: The optimizer.
        is_emptied: Whether entries of its state are gone.
        is_changed: Whether its state differs in any other way.
        copied_bytes: Bytes that were allocated during the count.
        moves: Methods that would copy entries on a GPU.
    """

    case: CountCase
    is_emptied: bool
    is_changed: bool
    copied_bytes: int
    moves: Sequence[str]

    @property
    def name(self) -> str:
        """The optimizer, in words."""
        return NAMES[self.case.kind]

    @property
    def size(self) -> str:
        """What was allocated, in words."""
        return format_bytes(self.copied_bytes)

    @property
    def move(self) -> str:
        """The first of the methods."""
        return min(map(str, self.moves), default="")


def _judge_all(table: Table[Reading], readings: Sequence[Reading], *texts: str) -> Verdict | None:
    return next((verdict for reading in readings if (verdict := table.judge(reading, *texts))), None)


NOTHING_ALLOCATED, ALLOCATED = "nothing allocated for {name}", "{size} allocated while the function counts"
CHANGES = Table[Reading](
    Misconception(
        "state_emptied",
        "You remove entries from the state, with clear(), pop() or del. An optimizer without its state starts again "
        "from zero: only read it.",
        shown_by=lambda reading: reading.is_emptied,
        expected="the state as it was",
        measured="entries that are gone after the count",
    ),
    Misconception(
        "state_changed",
        "You change the optimizer while you count. Only read its state: step(), for instance, does more.",
        shown_by=lambda reading: reading.is_changed,
        expected="the state of {name} as it was",
        measured="another state after the count",
    ),
)
COPIES_COUNTED = Table[Reading](
    Misconception(
        "copies_counted",
        "You count copies, and each copy has a storage of its own. Count the tensors that the state holds.",
        shown_by=lambda reading: reading.copied_bytes > 0,
    )
)
COPIES = Table[Reading](
    Misconception(
        "state_copied",
        "You copy tensors of the state. A tensor knows its size: look for the line that makes a new one of it.",
        shown_by=lambda reading: reading.copied_bytes > 0 and reading.case.kind != "packed",
        expected=NOTHING_ALLOCATED,
        measured=ALLOCATED,
    ),
    Misconception(
        "strided_state_copied",
        "You copy tensors that are stored column by column: contiguous() and reshape() make a copy of them. Read their "
        "size as they are.",
        shown_by=lambda reading: reading.copied_bytes > 0,
        expected=NOTHING_ALLOCATED,
        measured=ALLOCATED,
    ),
    Misconception(
        "state_moved",
        "You call a method that copies each entry on a GPU. A tensor knows its size where it is.",
        shown_by=lambda reading: bool(reading.moves),
        expected="entries that stay where they are",
        measured="a call of .{move}()",
    ),
)


def _equals(answer: Size, value: Size) -> bool:
    """Return whether an answer equals a value: whole numbers exactly, others after their rounding."""
    return all(
        one == other if isinstance(other, int) else is_near(one, other, relative=1e-6)
        for one, other in zip(answer, value, strict=True)
    )


@lru_cache(maxsize=64)
def _optimizer_of(case: CountCase) -> torch.optim.Optimizer:
    return case.make_optimizer()


def _run(count: Callable[[torch.optim.Optimizer], Size], case: CountCase) -> Size:
    return count(_optimizer_of(case))


TABLE = ReferenceTable(
    count_state,
    Misconception(
        "numbers_counted",
        "You count entries that are plain numbers. Only tensors count: torch.is_tensor finds them.",
        {
            IS_TENSOR: f"if isinstance(entry, int | float):\n{INNER}entry = torch.tensor(entry)\n{OUTER}{IS_TENSOR}",
            **EACH_ENTRY,
            **BY_SHAPE,
        },
        variants=[
            {
                IS_TENSOR: f"if isinstance(entry, int | float):\n{INNER}elements[-len(elements) - 1] = 1\n"
                f"{INNER}sizes[-len(sizes) - 1] = 8\n{OUTER}{IS_TENSOR}"
            }
        ],
    ),
    Misconception(
        "shared_counted_each_time",
        "You count a tensor once for each parameter that shares it. Count each storage once.",
        EACH_ENTRY | BY_SHAPE,
    ),
    Misconception(
        "storage_counted_for_each_view",
        "You count a whole storage for each tensor that is a view of it. Count each storage once.",
        EACH_ENTRY,
    ),
    Misconception(
        "address_of_view_for_storage",
        "You take two views of one storage for two storages: tensor.data_ptr() and id(tensor) belong to the view. Its "
        "untyped_storage() has a data_ptr() of its own.",
        _by("entry.data_ptr()"),
    ),
    Misconception(
        "parameters_counted",
        "You count the keys of the state, which are the parameters. What the optimizer keeps is in its values.",
        {STATES: "for parameter in optimizer.state:", ENTRIES: "for entry in [parameter]:"},
    ),
    Misconception(
        "parameters_counted_too",
        "You count the parameters in addition to the state. Count only what the optimizer keeps for them.",
        {STATES: f"for state in (*optimizer.state.values(), {{id(one): one for one in {ALL_PARAMETERS}}}):"},
    ),
    Misconception(
        "options_counted",
        "You count tensors in param_groups. They are options, as the learning rate is: count the state alone.",
        {STATES: "for state in (*optimizer.state.values(), *optimizer.param_groups):"},
    ),
    Misconception(
        "storages_merged",
        "You take storages of one name or one size for one storage. Tell them apart by their addresses.",
        _by("storage.nbytes()"),
        variants=[
            _by("storage.nbytes(), entry.element_size()"),
            _by("name") | {ENTRIES: "for name, entry in state.items():"},
        ],
    ),
    Misconception(
        "formats_left_out",
        "You count tensors of some number formats only. A state may hold integers and 16-bit numbers, too.",
        {IS_TENSOR: "if torch.is_tensor(entry) and entry.is_floating_point():"},
        variants=[{IS_TENSOR: "if torch.is_tensor(entry) and entry.dtype == torch.float32:"}],
    ),
    Misconception(
        "bytes_for_elements",
        "You return the bytes as elements. The elements of a storage are its bytes over element_size().",
        {ELEMENTS: "storage.nbytes()"},
    ),
    Misconception(
        "estimated",
        "You estimate the state from the parameters, as for AdamW. Count the tensors that it holds.",
        {START: f"{PARAMETERS}; return 2 * sum(p.numel() for p in parameters), 2 * sum(p.nbytes for p in parameters)"},
        variants=[{START: f"{PARAMETERS}; n = sum(2 * p.numel() + 1 for p in parameters); return n, 4 * n"}],
    ),
    Misconception(
        "views_counted_by_shape",
        "You count a view by its own shape, and it is smaller than its storage. What is held is its untyped_storage().",
        _by("id(entry)") | BY_SHAPE,
        variants=[_by("entry.data_ptr()") | BY_SHAPE, BY_SHAPE, FIRST_ELEMENTS | FIRST_BYTES],
    ),
    Misconception(
        "elements_of_views",
        "You count elements by the shape of views. The elements of a storage are its bytes over element_size().",
        {ELEMENTS: "entry.numel()"},
        variants=[
            FIRST_ELEMENTS,
            {ELEMENTS_OF: "elements[id(entry)]", ELEMENTS: "entry.numel()"},
            {ELEMENTS_OF: "elements[len(elements)]", ELEMENTS: "entry.numel()"},
        ],
    ),
    Misconception(
        "names_assumed",
        "You look for the names that AdamW gives its state. Another optimizer has others: go through all entries.",
        {ENTRIES: 'for entry in (state.get(name) for name in ("step", "exp_avg", "exp_avg_sq")):'},
        variants=[{ENTRIES: 'for entry in (state.get(name) for name in ("exp_avg", "exp_avg_sq")):'}],
    ),
    Misconception(
        "first_group_only",
        "You count the first group only. The state holds entries for the parameters of all groups.",
        {STATES: 'for state in (optimizer.state.get(one, {}) for one in optimizer.param_groups[0]["params"]):'},
    ),
    Misconception(
        "four_bytes_assumed",
        "You take every number for 4 bytes. Formats differ: use element_size().",
        {RESULT: "sum(elements.values()), 4 * sum(elements.values())"},
        variants=[{ELEMENTS: "storage.nbytes() // 4"}],
    ),
    Misconception(
        "counters_left_out",
        "You leave tensors of one number out. A step counter is state, too.",
        {IS_TENSOR: "if torch.is_tensor(entry) and entry.dim():"},
    ),
    Misconception(
        "elements_and_bytes_swapped",
        "You return bytes first. Return elements, then bytes.",
        {RESULT: "sum(sizes.values()), sum(elements.values())"},
    ),
    Misconception(
        "another_unit",
        "You return MiB or MB. Return bytes.",
        {RESULT: f"{RESULT} / {MIB}"},
        variants=[{RESULT: f"{RESULT} / 1e6"}],
    ),
    hard_coded(count_cases),
    Misconception(
        "same_for_all",
        "You return the same numbers for every optimizer. Compute them from the state of the one that you receive.",
        shown_by=lambda answer: len(set(answer.values)) == 1,
    ),
    run=_run,
    cases=count_cases,
    is_near=_equals,
)


def _say(size: Size) -> str:
    return f"{size[0]:,.10g} elements and {size[1]:,.10g} bytes"
