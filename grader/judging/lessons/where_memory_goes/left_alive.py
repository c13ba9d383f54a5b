"""Judges the bytes that deleting a name would free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from grader.judging.kept import keep_cases
from grader.judging.lessons.where_memory_goes.byte_counts import format_byte_count
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.lessons.where_memory_goes.left_alive import NamespaceCase, namespace_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

ROUNDING = 1e-12  # of a sum of floats: no count of bytes here reaches 10**12
PYTHON_OBJECT_BYTES = 20_000  # larger than any number, text, list or tensor object of these programs

Bytes = dict[str, float]


def freed_by_names(namespace: Mapping[str, object]) -> Bytes:
    """Return the bytes that deleting each name alone would free."""
    names_of: dict[object, list[str]] = {}
    sizes: dict[object, float] = {}
    for name, value in namespace.items():
        for tensor in tensors_of(value):
            key = tensor.untyped_storage()._cdata
            sizes[key] = tensor.untyped_storage().nbytes()
            if name not in names_of.setdefault(key, []):
                names_of[key].append(name)
    freed: Bytes = dict.fromkeys(namespace, 0)
    for key, names in names_of.items():
        if len(names) == 1:
            freed[names[0]] += sizes[key]
    return freed


def tensors_of(value: object) -> list[Tensor]:
    """Return the tensors that an object holds, one that it holds twice twice."""
    if isinstance(value, Tensor):
        return [value] if not value.is_leaf or value.grad is None else [value, value.grad]
    if isinstance(value, nn.Module):
        value = [*value.parameters(), *value.buffers()]
    elif isinstance(value, torch.optim.Optimizer):
        value = [*parameters_of(value), *(tensor for entry in value.state.values() for tensor in entry.values())]
    elif isinstance(value, Mapping):
        value = list(value.values())
    return [tensor for item in value for tensor in tensors_of(item)] if isinstance(value, list | tuple) else []


def parameters_of(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """Return the parameters that an optimizer updates."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


# The parts of the reference that misconceptions edit.
SEARCH = "for tensor in tensors_of(value):"
TOP_LEVEL = "for tensor in [value] if isinstance(value, Tensor) else []:"
KEY = "tensor.untyped_storage()._cdata"
SIZE = "sizes[key] = tensor.untyped_storage().nbytes()"
ONCE = "if name not in names_of.setdefault(key, []):"
SHARE = "if len(names) == 1:\n            freed[names[0]] += sizes[key]"
RETURNED = "return freed"
GRADIENTS = "[value] if not value.is_leaf or value.grad is None else [value, value.grad]"
MODULE = "[*value.parameters(), *value.buffers()]"
OPTIMIZER = "[*parameters_of(value), *(tensor for entry in value.state.values() for tensor in entry.values())]"
CONTAINER = "elif isinstance(value, Mapping):\n        value = list(value.values())"
ITEMS = "for item in value for tensor in tensors_of(item)"
EVERY_HOLDER = "for name in names:\n            freed[name] += sizes[key]"
SPLIT = "for name in names:\n            freed[name] += sizes[key] / len(names)"


def _are_python_objects(answer: Answer) -> bool:
    """Return whether every name has some bytes, numbers and None included, and none has many."""
    counts = [count for value in answer.values for count in value.values()]
    return all(0 < count < PYTHON_OBJECT_BYTES for count in counts)


@keep_cases
def _namespace_of(case: NamespaceCase) -> dict[str, object]:
    return case.make_namespace()


def _run(freed: Callable[[Mapping[str, object]], Bytes], case: NamespaceCase) -> Bytes:
    return freed(_namespace_of(case))


TABLE = ReferenceTable(
    (freed_by_names, tensors_of),
    Misconception(
        "tensor_sizes_added",
        "You add up the sizes of all tensors behind a name, whoever else holds them. "
        "Count storages, each once, and only those that no other name holds.",
        {SIZE: "sizes[key] = tensor.nbytes", KEY: "(name, tensor.shape, len(sizes))"},
    ),
    Misconception(
        "top_level_tensors_only",
        "You count a name only if it is a tensor itself. Models, optimizers, lists and dicts hold tensors too: "
        "call `tensors_of` on each value.",
        {SEARCH: TOP_LEVEL},
        variants=[
            {SEARCH: TOP_LEVEL, SHARE: EVERY_HOLDER},
            {SEARCH: TOP_LEVEL, SHARE: EVERY_HOLDER, SIZE: "sizes[key] = tensor.nbytes"},
        ],
    ),
    Misconception(
        "every_holder_counted",
        "You count a storage for every name that holds it. While a second name holds it, deleting the first one "
        "frees nothing.",
        {SHARE: EVERY_HOLDER},
    ),
    Misconception(
        "shared_memory_split",
        "You split a shared storage among the names that hold it. Deleting one of them frees none of it.",
        {SHARE: SPLIT},
        variants=[
            {SHARE: SPLIT.replace("/ len", "// len")},
            {SHARE: SPLIT, RETURNED: "return {name: round(count) for name, count in freed.items()}"},
            {SHARE: SPLIT, RETURNED: "return {name: int(count) for name, count in freed.items()}"},
        ],
    ),
    Misconception(
        "first_holder_gets_all",
        "You count a shared storage for the first name that holds it. Its bytes are still held by the other names: "
        "the order of the names does not matter.",
        {SHARE: "freed[names[0]] += sizes[key]"},
    ),
    Misconception(
        "last_holder_gets_all",
        "You count a shared storage for the last name that holds it, as if the names before were deleted already. "
        "Each name is deleted alone.",
        {SHARE: "freed[names[-1]] += sizes[key]"},
    ),
    Misconception(
        "all_or_nothing",
        "You return 0 for a name as soon as it shares any storage. Decide storage by storage: what it alone holds is "
        "freed.",
        {
            RETURNED: "shared = {name for names in names_of.values() if len(names) > 1 for name in names}\n"
            "    return {name: 0 if name in shared else count for name, count in freed.items()}"
        },
    ),
    Misconception(
        "told_apart_by_tensor",
        "You compare tensor objects, but two of them may use one storage: a view, .detach(), an entry of "
        "state_dict(). Compare `untyped_storage().data_ptr()`.",
        {KEY: "id(tensor)"},
    ),
    Misconception(
        "told_apart_by_address",
        "You compare `tensor.data_ptr()`, which differs for a view that begins inside its storage. "
        "Compare `untyped_storage().data_ptr()`.",
        {KEY: "tensor.data_ptr()"},
    ),
    Misconception(
        "told_apart_by_content",
        "You take tensors with equal numbers for one. Equal copies take memory twice: "
        "compare `untyped_storage().data_ptr()`.",
        {KEY: "(tensor.shape, tensor.dtype, tensor.detach().numpy().tobytes())"},
    ),
    Misconception(
        "bytes_of_an_element_assumed",
        "You count elements, or assume 4 bytes for each. Float16 takes 2 bytes, int64 takes 8: "
        "read `nbytes()` of the storage.",
        {SIZE: "sizes[key] = tensor.numel()"},
        variants=[{SIZE: "sizes[key] = 4 * tensor.numel()"}],
    ),
    Misconception(
        "tensor_size_for_storage",
        "You count the bytes of the tensor, but a small view keeps its whole storage, and an expanded tensor has more "
        "elements than its storage. Count `untyped_storage().nbytes()`.",
        {SIZE: "sizes[key] = tensor.nbytes"},
        variants=[{SIZE: "sizes.setdefault(key, tensor.nbytes)"}],
    ),
    Misconception(
        "counted_for_each_tensor",
        "You count a storage once for each tensor that uses it. Tied weights and views of one name use it together: "
        "count it once.",
        {SIZE: "sizes[key] = sizes.get(key, 0) + tensor.untyped_storage().nbytes()"},
    ),
    Misconception(
        "shared_within_a_name",
        "You count the tensors that use a storage, not the names that hold it. Two tensors of one name do not keep it "
        "alive once that name is deleted.",
        {ONCE: "if names_of.setdefault(key, []) is not None:"},
    ),
    Misconception(
        "tensors_missed",
        "You miss some of the tensors behind a name: gradients, buffers, what an optimizer holds, or what nested lists "
        "and dicts hold. `tensors_of` finds them all.",
        {GRADIENTS: "[value]"},
        variants=[
            {MODULE: "list(value.state_dict().values())"},
            {MODULE: "list(value.parameters())"},
            {MODULE: "[]"},
            {OPTIMIZER: "[tensor for entry in value.state.values() for tensor in entry.values()]"},
            {OPTIMIZER: "parameters_of(value)"},
            {OPTIMIZER: "[]"},
            {CONTAINER: "elif isinstance(value, Mapping | list | tuple):\n        value = []"},
            {ITEMS: "for item in value if not isinstance(item, Mapping | list | tuple) for tensor in tensors_of(item)"},
        ],
    ),
    Misconception(
        "nothing_freed",
        "You return 0 for every name. If you compare with the storages of all names, a name is compared with itself, "
        "too: leave it out of the others.",
        {SHARE: "pass"},
    ),
    Misconception(
        "another_unit_for_bytes",
        "You return MiB, MB or GiB. Return bytes.",
        {SHARE: SHARE.replace("sizes[key]", "sizes[key] / 2**20")},
        variants=[
            {SHARE: SHARE.replace("sizes[key]", "sizes[key] / 10**6")},
            {SHARE: SHARE.replace("sizes[key]", "sizes[key] / 2**30")},
        ],
    ),
    Misconception(
        "python_objects_measured",
        "You measure the Python objects, which know only where their numbers are stored. "
        "Look at the storages of their tensors.",
        shown_by=_are_python_objects,
    ),
    hard_coded(namespace_cases),
    run=_run,
    cases=namespace_cases,
    is_near=within(relative=ROUNDING),
)


@dataclass(frozen=True)
class Names:
    """The names that an answer has, without their bytes.

    Attributes:
        program: The program that they are from.
        answered: The names of the answer.
        freed: The bytes that deleting each name of the program frees.
    """

    program: str
    answered: Sequence[str]
    freed: Mapping[str, float]

    @property
    def missing(self) -> list[str]:
        """Names of the program that the answer lacks."""
        return [name for name in self.freed if name not in self.answered]

    @property
    def unknown(self) -> list[str]:
        """Names of the answer that the program does not have."""
        return [name for name in self.answered if name not in self.freed]

    @property
    def listed(self) -> str:
        """The first few of the names that are missing or unknown."""
        names = self.unknown or self.missing
        shown = ", ".join(f"`{name}`" for name in names[:4])
        return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown


NAMES = Table[Names](
    Misconception(
        "unknown_names",
        "You return keys that are not names of the namespace. Return one key for each name, and no other.",
        shown_by=lambda names: bool(names.unknown),
        measured="bytes for {listed}",
    ),
    Misconception(
        "one_name_only",
        "You return a single name. Return the bytes of every name of the namespace.",
        shown_by=lambda names: len(names.answered) <= 1 and bool(names.missing),
    ),
    Misconception(
        "private_names_left_out",
        "You skip the names that begin with _. A notebook keeps outputs alive under such names: count them, too.",
        shown_by=lambda names: all(name.startswith("_") for name in names.missing) and bool(names.missing),
    ),
    Misconception(
        "names_without_bytes_left_out",
        "You leave out names whose deletion frees nothing. Return 0 for them.",
        shown_by=lambda names: not any(names.freed[name] for name in names.missing) and bool(names.missing),
    ),
    Misconception(
        "names_left_out",
        "You leave out names of the namespace. Look at the values that your loop skips.",
        shown_by=lambda names: bool(names.missing),
    ),
)


def judge_freed_bytes(observation: Observation, seed: int) -> Verdict:
    """Compare the bytes of every name in every namespace; report the first that differs."""
    answers: list[Bytes] = observation.facts["settings"]
    cases, truths = namespace_cases(seed), TABLE.truths(seed)
    for case, given, truth in zip(cases, answers, truths, strict=True):
        names = Names(case.program, list(given), truth)
        expected = f"bytes for each of the {len(truth)} names of {case.program}"
        verdict = NAMES.judge(names, expected, f"no bytes for {names.listed}")
        if verdict:
            return verdict
    answer = TABLE.answer(seed, answers)
    if answer.is_right:
        count, freeing = sum(map(len, truths)), sum(freed > 0 for truth in truths for freed in truth.values())
        measured = f"{count} names of {len(cases)} programs, to the byte; {freeing} of them free memory"
        return Verdict(PASSED, f"the bytes of {count} names", measured)
    name = next(name for name, right in answer.truth.items() if answer.value[name] != right)
    return TABLE.explain(
        answer,
        expected=f"{format_byte_count(answer.truth[name])} freed by `del {name}` in {answer.case.program}",
        measured=format_byte_count(answer.value[name]),
        otherwise=f"You return too {'many' if answer.value[name] > answer.truth[name] else 'few'} bytes for `{name}`. "
        "List the storages that it holds: each counts once, and not at all where another name holds it.",
    )
