"""Writes a function of a notebook as a module that other processes can run, with all that it uses."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import linecache
import math
import symtable
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

_GAP = "\n\n\n"
_FUTURE = "from __future__ import annotations"
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def is_importable(function: Callable[..., Any]) -> bool:
    """Return whether another process gets the same function by its module and name."""
    module = getattr(function, "__module__", None)
    if module in (None, "__main__"):
        return False
    try:
        return getattr(importlib.import_module(str(module)), getattr(function, "__name__", ""), None) is function
    except ImportError:
        return False


@dataclass(frozen=True)
class RankModule:
    """A module that each rank imports.

    Attributes:
        text: Its source.
        definitions: For each function or class: its first line in the module, how many lines it has, and the line at
            which it begins where it was written, a cell or a file; all counted from 1.
    """

    text: str
    definitions: list[tuple[int, int, int]]


def written_line(definitions: list[tuple[int, int, int]], line_number: int) -> int:
    """Return where a line of the module was written; the line itself if it belongs to no definition."""
    for first, lines, written in definitions:
        if first <= line_number < first + lines:
            return line_number - first + written
    return line_number


def rank_module(functions: dict[str, Callable[..., Any]]) -> RankModule:
    """Write functions and all that they use as one Python module.

    Functions and classes of a notebook come with their source, modules and what libraries define as imports, and
    plain values by their text.

    Args:
        functions: The functions by the names that the module shall give them.

    Raises:
        TypeError: One of them uses something that cannot be written, such as a tensor of the notebook.
        OSError: The source of one is not known.
    """
    collector = _Collector()
    for name, function in functions.items():
        collector.add(name, function, name)
    head = '"""Written by run_ranks: the functions that each rank runs, and what they use."""'
    text = "\n".join([head, _FUTURE, *sorted(collector.imports), *collector.constants])
    definitions = []
    for definition, written in collector.definitions:
        text += _GAP
        definitions.append((text.count("\n") + 1, definition.count("\n") + 1, written))
        text += definition
    return RankModule(text + "\n", definitions)


class _Collector:
    """Gathers what a module must hold so that some functions work there."""

    def __init__(self) -> None:
        self.imports: list[str] = []
        self.constants: list[str] = []
        self.definitions: list[tuple[str, int]] = []  # and the line at which it was written
        self._known: dict[str, Any] = {}

    def add(self, name: str, value: Any, user: str) -> None:
        """Make `name` stand for `value` in the module; `user` is the function that uses it."""
        if name in self._known:
            if self._known[name] is not value and self._known[name] != value:
                raise TypeError(f"two functions of this run mean different things by the name {name!r}: rename one")
            return
        self._known[name] = value
        if isinstance(value, types.ModuleType):
            self.imports.append(f"import {value.__name__} as {name}")
        elif callable(value) and is_importable(value):
            self.imports.append(f"from {value.__module__} import {value.__name__} as {name}")
        elif isinstance(inspect.unwrap(value) if callable(value) else value, types.FunctionType | type):
            self._add_definition(name, value)
        elif _is_plain(value):
            self.constants.append(f"{name} = {_text(value)}")
        elif isinstance(value, torch.device | torch.dtype):
            self.add("torch", torch, user)
            text = f"torch.device({str(value)!r})" if isinstance(value, torch.device) else str(value)
            self.constants.append(f"{name} = {text}")
        else:
            raise TypeError(
                f"{user} uses {name!r}, a {type(value).__name__} of the notebook. Ranks are processes of their own: "
                f"hand it over as an argument, or make it inside the function."
            )

    def _add_definition(self, name: str, value: Callable[..., Any]) -> None:
        value = inspect.unwrap(value)  # what a decorator made has the names of the decorator's module
        source, first_line = _source_of(value)
        if not source.startswith(("def ", "class ", "@")):
            raise TypeError(f"{name} is a lambda or part of a line: write it with `def`, so that a rank can have it")
        needed = _outside_names(f"{_FUTURE}\n{source}")
        for used in sorted(_outside_names(source)):
            known, found = _look_up(value, used)
            if known and (used in needed or _is_import(found)):  # annotations are texts there: imports are enough
                self.add(used, found, name)
        alias = "" if value.__name__ == name else f"{_GAP}{name} = {value.__name__}"
        self.definitions.append((source.rstrip() + alias, first_line))


def _is_import(value: Any) -> bool:
    return isinstance(value, types.ModuleType) or (callable(value) and is_importable(value))


def _source_of(value: Callable[..., Any]) -> tuple[str, int]:
    """Return source and first line of a function, or of a class of a notebook, whose file `inspect` does not know."""
    if isinstance(value, types.FunctionType):
        lines, first_line = inspect.getsourcelines(value)
        return textwrap.dedent("".join(lines)), first_line
    for method in _methods(value):
        source = "".join(linecache.getlines(method.__code__.co_filename))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and node.name == value.__name__:
                return textwrap.dedent(ast.get_source_segment(source, node) or ""), node.lineno
    raise OSError(f"the source of the class {value.__name__} is not known: define it inside the function that uses it")


def _outside_names(source: str) -> set[str]:
    """Return the names that a definition uses and does not define."""
    table = symtable.symtable(source, "<definition>", "exec")
    own = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()}
    return {name for scope in _scopes(table) for name in _free(scope)} - own


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _free(table: symtable.SymbolTable) -> Iterator[str]:
    is_module = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (is_module or symbol.is_global()):
            yield symbol.get_name()


def _look_up(value: Callable[..., Any], name: str) -> tuple[bool, Any]:
    """Find what a name means where a function or class was defined; builtins and unknown names are left alone."""
    functions = [value] if isinstance(value, types.FunctionType) else _methods(value)
    for function in functions:
        closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if name in closure:
            return True, closure[name].cell_contents
        if name in function.__globals__:
            return True, function.__globals__[name]
    if not functions and not hasattr(builtins, name):
        namespace = vars(importlib.import_module(value.__module__))
        return name in namespace, namespace.get(name)
    return False, None


def _methods(value: Any) -> list[types.FunctionType]:
    held = (getattr(member, "__func__", member) for member in vars(value).values())  # of a static or class method
    members = [inspect.unwrap(member) for member in held if isinstance(member, types.FunctionType)]
    return [member for member in members if isinstance(member, types.FunctionType)]


def _text(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, [*value.keys(), *value.values()]))
    return type(value) in _PLAIN
