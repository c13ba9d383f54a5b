"""Walks what an answer can reach while a check calls it, and keeps the paths whose value is the right answer."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

Key = tuple[Any, ...]
LAST_FRAME = "run_check"  # the function of the test under which a check runs
DEPTH = 3  # of a path: a name, what it holds, and a part of that
LONGEST = 64  # a sequence or dict whose parts are looked at
_left: dict[str, set[str] | None] = {}  # by folder: the paths that held the answer at every call so far


def watch(published: Callable[..., Any], folder: str, *arguments: Any) -> Any:
    """Call the published solution; write down which paths led to what it returned, unless none is left.

    Args:
        published: The solution.
        folder: Where to write: a file for each process, a line for each call.
        *arguments: Those of the exercise.

    Returns:
        What the solution returned.
    """
    left = _left.setdefault(folder, None)
    if left == set():
        return published(*arguments)
    reached = {path: keys_of(value) for path, value in _reached_from(sys._getframe(1))}
    handed = {key for argument in arguments for key in keys_of(argument)}  # what is handed over is no secret
    returned = published(*arguments)
    found = {
        f"{path} -> {part}"
        for part, answer in _parts(returned)
        for path, keys in reached.items()
        if answer is not None and answer in keys and answer not in handed
    }
    _left[folder] = found if left is None else left & found
    with Path(folder, f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps(sorted(found)) + "\n")
    return returned


def leaks_of(folder: Path) -> set[str] | None:
    """Return the paths that led to the answer at every call of every process; None if there was no call."""
    calls = [set(json.loads(line)) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    return set.intersection(*calls) if calls else None


def _parts(returned: Any) -> Iterator[tuple[str, Key | None]]:
    """Yield what was returned, and each part of a tuple, list or dict, as keys that can be compared."""
    yield "the answer", key_of(returned)
    if isinstance(returned, tuple | list) and len(returned) <= LONGEST:
        yield from ((f"part {place}", key_of(part)) for place, part in enumerate(returned))
    if isinstance(returned, Mapping):
        yield from ((f"part {name!r}", key_of(part)) for name, part in returned.items())


def key_of(value: Any) -> Key | None:
    """Return a key that is equal for equal answers, numbers to six digits; None for what is no answer."""
    if isinstance(value, torch.Tensor):
        if value.is_meta or value.layout is not torch.strided:
            return None
        value = value.detach().cpu()
        if value.numel() != 1:
            numbers = value.double().contiguous()
            return ("tensor", tuple(value.shape), hashlib.sha256(numbers.numpy().tobytes()).hexdigest())
        value = value.item()
    if isinstance(value, bool | int | float):
        return ("number", f"{float(value):.6g}")
    if isinstance(value, str):
        return ("text", value)
    if isinstance(value, set | frozenset):
        return _joined("set", sorted(value, key=repr))
    if isinstance(value, tuple | list):
        return _joined("list", value)
    if isinstance(value, Mapping):
        return _joined("dict", [part for pair in sorted(value.items(), key=repr) for part in pair])
    return None


def _joined(kind: str, parts: Any) -> Key | None:
    keys = tuple(key_of(part) for part in parts) if len(parts) <= LONGEST else (None,)
    return None if None in keys else (kind, *keys)


def keys_of(value: Any) -> set[Key]:
    """Return the key of a value, or none."""
    key = key_of(value)
    return set() if key is None else {key}


def _reached_from(frame: types.FrameType | None) -> Iterator[tuple[str, Any]]:
    """Yield all that is on a short path from the frames that are running, the closest first."""
    while frame is not None and frame.f_code.co_name != LAST_FRAME:
        for name, value in list(frame.f_locals.items()):
            yield from _reached(f"{frame.f_code.co_qualname}: {name}", value, DEPTH)
        frame = frame.f_back


def _reached(path: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield a value, and what is reached from it."""
    yield path, value
    if depth == 0:
        return
    for part, found in _beneath(value):
        yield from _reached(f"{path}{part}", found, depth - 1)


def _beneath(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple | list) and 0 < len(value) <= LONGEST:
        yield from (("[0]", value[0]), ("[-1]", value[-1]), (" by len", len(value)))
        if all(isinstance(part, int | float) for part in value):
            yield from ((" by max", max(value)), (" by min", min(value)), (" by sum", sum(value)))
    elif isinstance(value, Mapping) and len(value) <= LONGEST:
        yield from ((f"[{name!r}]", part) for name, part in list(value.items()))
    elif isinstance(value, partial):
        yield from ((f" argument {place}", part) for place, part in enumerate(value.args))
        yield from ((f" argument {name}", part) for name, part in value.keywords.items())
    elif isinstance(value, types.MethodType):
        yield " owner", value.__self__
    elif isinstance(value, types.FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        yield from ((f" closure {name}", cell.cell_contents) for name, cell in cells if _is_filled(cell))
    elif is_dataclass(value) and type(value).__module__.startswith("grader.lessons"):
        yield from _members(value)


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _members(case: Any) -> Iterator[tuple[str, Any]]:
    """Yield attributes, properties, and what methods return without an argument, or for a number of the case."""
    numbers: dict[str, Any] = {}
    methods: dict[str, Callable[..., Any]] = {}
    for name in dir(case):
        if name.startswith("__"):
            continue
        member = _tried(getattr, case, name)
        if isinstance(member, types.MethodType):
            methods[name] = member
        else:
            yield f".{name}", member
            numbers |= {name: member} if isinstance(member, int) else {}
    for name, method in methods.items():
        required = [one for one in inspect.signature(method).parameters.values() if one.default is one.empty]
        if not required:
            yield f".{name}()", _tried(method)
        elif len(required) == 1:
            yield from ((f".{name}({of})", _tried(method, number)) for of, number in numbers.items())


def _tried(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call something that may fail here; nothing of it is an answer then."""
    try:
        return call(*arguments)
    except Exception:
        return None
