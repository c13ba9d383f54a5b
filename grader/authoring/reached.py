"""The files of the package that a lesson's points depend on: what its source imports, and what these import in turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from .errors import Problem
from .lesson import Lesson

PACKAGE = "grader"
REGISTRY = f"{PACKAGE}.registry"
TABLES = ("HOMES", "JUDGES")
JUDGING = f"{PACKAGE}.judging."
WITHOUT_POINTS = (f"{PACKAGE}.authoring", f"{PACKAGE}.classroom", f"{PACKAGE}.figures")


def reached_files(root: Path, source: Path) -> list[Path]:
    """Return the files of the package that a lesson reaches, without those that no point depends on.

    A check reaches its judge, which it asks by name. The registry of public names is no part of it: a name counts with
    the modules that it stands for.

    Args:
        root: The repository.
        source: The lesson's source.

    Returns:
        The files, sorted; [] where the lesson imports nothing of the package.
    """
    homes = _homes(root / PACKAGE / "registry.py")
    found: dict[str, Path] = {}
    waiting = list(_imported(source, "", homes))
    while waiting:
        name = waiting.pop()
        path = _file_of(root, name)
        if path is None or name in found or name in (PACKAGE, REGISTRY) or name.startswith(WITHOUT_POINTS):
            continue
        found[name] = path
        waiting += [*_imported(path, _package_of(name, path), homes), name.rpartition(".")[0]]
    return sorted(found.values())


def registry_problems(lesson: Lesson) -> list[Problem]:
    """Return a problem for each check of a lesson that has no home or no judge, by the registry or in its module."""
    root = lesson.path.parents[1]
    registry = root / PACKAGE / "registry.py"
    if not registry.is_file():
        return []
    homes = _homes(registry)
    problems = []
    for name in dict.fromkeys(check.name for check in lesson.checks):
        judges = [module for module in homes.get(name, ()) if module.startswith(JUDGING)]
        if not judges:
            problems.append(Problem(registry, 0, f"no module judges {name}", "List it under JUDGES"))
        if len(homes.get(name, ())) == len(judges):
            problems.append(Problem(registry, 0, f"{name} has no home", "List it under HOMES"))
        for module in homes.get(name, ()):
            function = f"judge_{name.removeprefix('check_')}" if module in judges else name
            path = _file_of(root, module)
            if path is None:
                problems.append(
                    Problem(registry, 0, f"{module} is no module", f"Correct its name, or write {function}")
                )
            elif function not in _bound_names(path):
                problems.append(Problem(path, 0, f"it has no {function}", "Define it, or correct the registry"))
    return problems


def _bound_names(path: Path) -> set[str]:
    """Return the names that a module binds at its top level."""
    names: set[str] = set()
    for statement in _parsed(path).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in statement.names}
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return names


def _homes(registry: Path) -> dict[str, list[str]]:
    """Return the modules that each public name stands for: its home, and of a check also its judge."""
    homes: dict[str, list[str]] = {}
    for statement in _parsed(registry).body if registry.is_file() else ():
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) in TABLES and statement.value:
            for module, names in ast.literal_eval(statement.value).items():
                for name in names:
                    homes.setdefault(name, []).append(module)
    return homes


def _imported(path: Path, package: str, homes: dict[str, list[str]]) -> Iterator[str]:
    """Yield each module of this package that a file may import; also names that are no module."""
    for statement in ast.walk(_parsed(path)):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
            module = ".".join([*above, *filter(None, [statement.module])])
            names = [module, *(f"{module}.{alias.name}" for alias in statement.names)]
        else:
            continue
        for name in names:
            if name.partition(".")[0] == PACKAGE:
                yield from homes.get(name.removeprefix(f"{PACKAGE}."), [name])


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _package_of(name: str, path: Path) -> str:
    return name if path.name == "__init__.py" else name.rpartition(".")[0]


def _file_of(root: Path, name: str) -> Path | None:
    place = root.joinpath(*name.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
