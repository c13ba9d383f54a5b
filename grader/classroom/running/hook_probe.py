"""Find in a kernel the code between a cell and its result that comes from no library.

The text of this file is sent to the kernel and run there, before the first cell and after the last. It imports nothing
of this project. What it finds costs nothing: a learner may have reasons, and code that wants to hide can lie to it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import hashlib
import os
import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

SHELL_METHODS = ("run_cell", "run_cell_async", "run_ast_nodes", "run_code", "transform_cell", "showtraceback")
DISPLAY_METHODS = ("__call__", "compute_format_data", "write_format_data", "finish_displayhook")
TORCH_FUNCTIONS = (
    "torch.allclose",
    "torch.equal",
    "torch.isfinite",
    "torch.get_rng_state",
    "torch.autograd.backward",
    "torch.autograd.grad",
    "torch.Tensor.backward",
    "torch.Tensor.item",
    "torch.nn.Module.__call__",
    "torch.nn.Linear.forward",
    "torch.nn.functional.cross_entropy",
    "torch.nn.functional.mse_loss",
    "torch.optim.Optimizer.zero_grad",
    "torch.optim.SGD.step",
    "torch.cuda.memory_allocated",
    "torch.cuda.memory_stats",
)


def foreign_transforms(shell: Any) -> dict[str, str]:
    """Return those of the hooks that decide what a cell runs: what transforms it, and the shell's own methods."""
    return {place: digest for place, function in _transforms(shell) if (digest := _foreign_digest(function))}


def foreign_hooks(shell: Any) -> dict[str, str]:
    """Return the hooks that are no library's: where each is set, and a digest of its code."""
    hooks = {place: digest for place, function in _hooks(shell) if (digest := _foreign_digest(function))}
    hooks |= dict.fromkeys(_replaced_helpers(shell), "replaced")
    return hooks | {f"file {os.path.relpath(path)}": _file_digest(path) for path in _own_files()}


def _own_files() -> list[str]:
    """Return the files of imported modules that are next to the notebook."""
    return sorted({str(module.__file__) for module in list(sys.modules.values()) if _is_next_to_notebook(module)})


def _is_next_to_notebook(module: Any) -> bool:
    """Return whether a module is made of a file next to the notebook: a plain one, or one that is gone by now."""
    path = os.path.normpath(str(getattr(module, "__file__", None)))
    return path.startswith(os.getcwd() + os.sep) and (os.path.isfile(path) or not os.path.exists(path))


def _file_digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def _transforms(shell: Any) -> Iterator[tuple[str, Any]]:
    transformers = [*shell.input_transformers_cleanup, *shell.input_transformers_post, *shell.ast_transformers]
    for transformer in transformers:
        yield "transformers of cells", transformer
    for name in SHELL_METHODS:
        yield f"the shell's {name}", getattr(shell, name)


def _hooks(shell: Any) -> Iterator[tuple[str, Any]]:
    yield from _transforms(shell)
    for event, callbacks in shell.events.callbacks.items():
        for callback in callbacks:
            yield f"callbacks of {event}", callback
    for name in DISPLAY_METHODS:
        yield "the shell's display of results", getattr(type(shell.displayhook), name, None)
    yield "the kernel's messages", shell.kernel.session.send
    yield "the shell's exception handler", shell.CustomTB if shell.custom_exceptions else None
    for name, value in list(vars(builtins).items()):
        yield f"builtins.{name}", value
    for name in TORCH_FUNCTIONS:
        yield name, _named(name)
    yield from _of_modules()


def _of_modules() -> Iterator[tuple[str, Any]]:
    """Yield the functions of this project's modules."""
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == "grader":
            for name, value in list(vars(module).items()):
                yield f"{module_name}.{name}", value if isinstance(value, types.FunctionType) else None


def _replaced_helpers(shell: Any) -> Iterator[str]:
    """Yield the functions of modules next to the notebook that no longer have the code of their file."""
    for module_name, module in list(sys.modules.items()):
        if _is_next_to_notebook(module):
            for name, code in _codes_of(str(module.__file__)).items():
                found = (getattr(module, name, None), shell.user_ns.get(name))
                if any(callable(one) and getattr(one, "__code__", None) != code for one in found):
                    yield f"helper {module_name}.{name}"


def _codes_of(path: str) -> dict[str, types.CodeType]:
    """Return the code of the functions of a file; a decorator would put other code in place of it."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        compiled = compile(tree, path, "exec", dont_inherit=True)
    except (OSError, ValueError, SyntaxError):
        return {}
    plain = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list}
    codes = [code for code in compiled.co_consts if isinstance(code, types.CodeType)]
    return {code.co_name: code for code in codes if code.co_name in plain}


def _named(path: str) -> Any:
    """Return the object of a dotted name, without importing anything."""
    module, *names = path.split(".")
    found: Any = sys.modules.get(module)
    for name in names:
        found = getattr(found, name, None)
    return found


def _foreign_digest(function: Any) -> str:
    """Return a digest of a Python function or object that comes from no library; "" for all others."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        is_plain = function is None or isinstance(function, type | types.BuiltinFunctionType | types.ModuleType)
        codes = [] if is_plain else [getattr(one, "__code__", None) for one in _methods_of(type(function))]
    else:
        codes = [code]
    foreign = [one for one in codes if one is not None and not one.co_filename.startswith(_libraries())]
    return hashlib.sha256(b"".join(one.co_code for one in foreign)).hexdigest()[:12] if foreign else ""


def _methods_of(kind: type) -> list[Any]:
    """Return the methods of a class and of those that it inherits from: any of them may be a hook's."""
    return [method for base in kind.__mro__ for method in vars(base).values()]


@functools.cache
def _libraries() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    paths += [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    grader = getattr(sys.modules.get("grader"), "__file__", None)
    return (*paths, "<frozen", "<string>", *([grader.rpartition("/")[0]] if grader else []))
