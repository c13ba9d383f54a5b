"""Tell by identity whether the functions that a check consists of are still those that the course defined.

The text of this file is sent to the kernel and run there, before any code of the learner's and before each judged
check. It imports nothing of this project. Code that wants to hide can lie to it, as to every probe in its own process.
"""

from __future__ import annotations

import hashlib
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

KINDS = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
OWN = ("grader.", "builtins")  # libraries wrap the methods of classes that inherit from theirs
OF_COMPILER = re.compile(r"__(compiled_fn_|resume_at_|builtins_dict_|comprehension_|import_[a-zA-Z])")
METHODS = (types.FunctionType, staticmethod, classmethod, property)


def import_checks(homes: Mapping[str, str]) -> None:
    """Import the checks of a notebook, each from its own module; what is missing is missing for the learner, too."""
    for module in set(homes.values()):
        try:
            __import__(module)
        except ImportError:
            pass


def identities(names: Iterable[str] | None = None) -> dict[str, str]:
    """Return for each module of the course a digest of the identities of all that it consists of.

    Args:
        names: The modules; all that are imported, and that a check can rest on, if left out.
    """
    own = (name for name in list(sys.modules) if name.startswith("grader.") and ".classroom" not in name)
    return {name: _digest(sys.modules.get(name)) for name in (own if names is None else names)}


def foreign_checks(homes: Mapping[str, str], space: Mapping[str, Any]) -> list[str]:
    """Return the checks whose name in the notebook is another function's."""
    known = {name: getattr(sys.modules.get(module), name, None) for name, module in homes.items()}
    return [name for name, check in known.items() if space.get(name, check) is not check]


def _digest(module: Any) -> str:
    parts = [str(id(module))]
    for name, value in sorted(vars(module).items() if isinstance(module, types.ModuleType) else ()):
        is_lazy = isinstance(value, types.ModuleType) and value.__name__.startswith("grader")  # bound when imported
        is_bound_later = is_lazy or OF_COMPILER.match(name)  # torch.compile binds names where its functions are from
        if isinstance(value, KINDS) and not is_bound_later:
            parts += [name, *map(str, _identities_of(value))]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def _identities_of(value: Any) -> Iterator[int]:
    yield id(value)
    if isinstance(value, type) and all(base.__module__.startswith(OWN) for base in value.__mro__):
        for method in vars(value).values():
            if isinstance(method, METHODS):
                yield id(method)
                yield id(getattr(method, "__code__", None))
    for function in (value, *_enclosed(value)):
        yield id(function)
        yield id(getattr(function, "__code__", None))


def _enclosed(value: Any) -> Iterator[Any]:
    """Yield the functions that a decorated one calls."""
    for cell in getattr(value, "__closure__", None) or ():
        try:
            if isinstance(cell.cell_contents, types.FunctionType):
                yield cell.cell_contents
        except ValueError:  # an empty cell
            continue
