"""The files of the package that a lesson's points depend on: what its source imports, and what these import in turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "grader"
CHECKS, JUDGES = f"{PACKAGE}.checks.", f"{PACKAGE}.judges."
WITHOUT_POINTS = (f"{PACKAGE}.authoring", f"{PACKAGE}.classroom", f"{PACKAGE}.figures")


def reached_files(root: Path, source: Path) -> list[Path]:
    """Return the files of the package that a lesson reaches, without those that no point depends on.

    A check reaches the judges of its topic, which it asks by name. The table of public names is no part of it: a name
    counts with the module that it stands for.

    Args:
        root: The repository.
        source: The lesson's source.

    Returns:
        The files, sorted; [] where the lesson imports nothing of the package.
    """
    homes = _homes(root / PACKAGE / "__init__.py")
    found: dict[str, Path] = {}
    waiting = list(_imported(source, "", homes))
    while waiting:
        name = waiting.pop()
        path = _file_of(root, name)
        if path is None or name in found or name == PACKAGE or name.startswith(WITHOUT_POINTS):
            continue
        found[name] = path
        waiting += [*_imported(path, _package_of(name, path), homes), name.rpartition(".")[0]]
        if name.startswith(CHECKS):
            waiting.append(JUDGES + name.removeprefix(CHECKS))
    return sorted(found.values())


def _homes(table: Path) -> dict[str, str]:
    """Return the module that each public name stands for."""
    for statement in _parsed(table).body if table.is_file() else ():
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_HOMES":
            return {name: home for home, names in ast.literal_eval(statement.value).items() for name in names}
    return {}


def _imported(path: Path, package: str, homes: dict[str, str]) -> Iterator[str]:
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
                yield homes.get(name.removeprefix(f"{PACKAGE}."), name)


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _package_of(name: str, path: Path) -> str:
    return name if path.name == "__init__.py" else name.rpartition(".")[0]


def _file_of(root: Path, name: str) -> Path | None:
    place = root.joinpath(*name.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
