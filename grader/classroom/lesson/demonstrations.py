"""Find the demonstrations that a class run can leave out, and whether anything else could notice their absence."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import nbformat
from nbformat.notebooknode import NotebookNode

from .master import is_answer, is_course_check, is_graded, nbgrader_metadata

OWN = "own-"  # how the ids of a learner's own cells begin
NOW = {"listcomp", "setcomp", "dictcomp", "genexpr"}  # scopes that run where they stand
LOOKS_AROUND = {"globals", "locals", "vars", "dir", "exec", "eval", "get_ipython", "__main__", "In", "Out", "_", "gc"}
CHANGES_SETTINGS = re.compile(
    r"\b(set_default_\w+|set_num_\w+|set_float32_matmul_precision|set_grad_enabled|use_deterministic_algorithms|"
    r"set_start_method|register_module_\w+|init_process_group|environ|chdir|setattr|delattr|settrace|setprofile|"
    r"write_text|write_bytes|to_csv|mkdir|savez|save_pretrained|save_model|save_state|dump)\b|"
    r"\bopen\(|\.save\(|\bimport \*|^\s*[%!]",
    re.MULTILINE,
)
DRAWS = re.compile(r"rand|bernoulli|multinomial|normal_|uniform_|shuffle|choice|sample|[Dd]ropout|rng|seed")
REMEMBERS = re.compile(r"\bglobal\b|@(functools\.)?(lru_)?cache|__dict__|__defaults__|__main__|__globals__")
CONSTANT = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple)
Binding = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Use:
    """The names of one cell.

    Attributes:
        reads: Names that it, or a function of it, takes from the notebook.
        binds: Names that it binds in the notebook.
        objects: Those of them that are neither imported nor functions nor classes.
        loads: All names that it mentions, those aside that it only unpacks, as in `f(**settings)`.
    """

    reads: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()
    loads: frozenset[str] = frozenset()


def demonstrations(notebook: NotebookNode) -> list[int]:
    """Return the places of the lesson's own code cells that are not given, answered or graded."""
    return [
        index
        for index, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and not _is_own(cell) and not nbgrader_metadata(cell) and cell.source.strip()
    ]


def left_out_cells(notebook: NotebookNode) -> tuple[int, ...]:
    """Return the demonstrations that a run of this rebuilt notebook can leave out: all, or none.

    None are left out if a cell that stays reads a name that they bind, if the learner's code reads an object that they
    use, looks around, remembers calls or draws random numbers, or if they change settings of the process.
    """
    places = demonstrations(notebook)
    shown = [notebook.cells[index] for index in places]
    kept = [cell for index, cell in enumerate(notebook.cells) if cell.cell_type == "code" and index not in places]
    if any(CHANGES_SETTINGS.search(cell.source) for cell in shown):
        return ()
    try:
        uses = [_use(cell.source) for cell in shown]
    except (SyntaxError, ValueError, RecursionError):
        return ()
    theirs = [cell for cell in kept if _is_own(cell) or is_answer(cell) or _is_free_check(cell)]
    if any(_is_telling(cell.source) for cell in theirs) or _meets(kept, theirs, uses):
        return ()
    return tuple(places)


def _meets(kept: Iterable[NotebookNode], theirs: Iterable[NotebookNode], shown: Iterable[Use]) -> bool:
    """Return whether cells that stay read what demonstrations bind, or the learner's read objects that they use."""
    cells = {id(cell): _lenient_use(cell.source) for cell in kept}
    imported = _union(use.binds - use.objects for use in cells.values())
    objects = _union(use.objects for use in cells.values())
    bound = _union((use.binds - imported) | use.objects for use in shown)
    used = objects & _union(use.loads for use in shown)
    reads = _union(use.reads for use in cells.values())
    own_reads = _union(cells[id(cell)].reads for cell in theirs)
    return bool(reads & bound or own_reads & used)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def without_cells(notebook: str, left_out: Iterable[int]) -> str:
    """Return a notebook's JSON in which these cells are empty, at the same places."""
    reduced = nbformat.reads(notebook, as_version=4)
    for index in left_out:
        reduced.cells[index].source = ""
    return str(nbformat.writes(reduced))


def _is_own(cell: NotebookNode) -> bool:
    return str(cell.get("id", "")).startswith(OWN)


def _is_free_check(cell: NotebookNode) -> bool:
    """Return whether a cell is an instructor's own check, which may look at more than one answer."""
    return is_graded(cell) and not is_course_check(cell)


def _is_telling(source: str) -> bool:
    """Return whether a learner's code could notice a cell that did not run, in a way that names do not show."""
    if DRAWS.search(source) or REMEMBERS.search(source) or re.search(r"^\s*[%!?]", source, re.MULTILINE):
        return True
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return False  # it does not run
    arguments = [node.args for node in nodes if isinstance(node, ast.FunctionDef | ast.Lambda)]
    defaults = [value for found in arguments for value in (*found.defaults, *found.kw_defaults) if value]
    return any(isinstance(value, ast.List | ast.Dict | ast.Set | ast.Call) for value in defaults) or any(
        isinstance(node, ast.Name) and node.id in LOOKS_AROUND and isinstance(node.ctx, ast.Load) for node in nodes
    )


def _lenient_use(source: str) -> Use:
    """Return the names of a cell; of one that is no Python, such as a magic, every word counts as read."""
    try:
        return _use(source)
    except (SyntaxError, ValueError, RecursionError):
        return Use(reads=frozenset(re.findall(r"\w+", source)))


def _use(source: str) -> Use:
    reads: set[str] = set()
    binds: set[str] = set()
    objects: set[str] = set()
    tree = ast.parse(source)
    for statement in tree.body:
        table = symtable.symtable(ast.unparse(statement), "cell", "exec")
        now, later, bound = _names(table)
        reads |= (now - binds) | later
        binds |= bound
        if not isinstance(statement, Binding):
            objects |= bound if not _is_constant(statement) else set()
    nodes = list(ast.walk(tree))
    unpacked = {id(node.value) for node in nodes if isinstance(node, ast.keyword) and node.arg is None}
    loads = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in unpacked}
    return Use(frozenset(reads), frozenset(binds), frozenset(objects), frozenset(loads))


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.value, CONSTANT)


def _names(table: symtable.SymbolTable) -> tuple[set[str], set[str], set[str]]:
    """Return the names that a statement reads as it runs, those that its functions read later, and those it binds."""
    bound = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    bound |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_namespace()}
    now = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    later: set[str] = set()
    for inner, is_now in _scopes(table, is_now=True):
        found = {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global() and symbol.is_referenced()}
        now, later = (now | found, later) if is_now else (now, later | found)
        bound |= {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global() and symbol.is_assigned()}
    return now, later, bound


def _scopes(table: symtable.SymbolTable, *, is_now: bool) -> Iterator[tuple[symtable.SymbolTable, bool]]:
    for inner in table.get_children():
        runs = is_now and (inner.get_type() == "class" or inner.get_name() in NOW)
        yield inner, runs
        yield from _scopes(inner, is_now=runs)
