"""Find the demonstrations that a class run can leave out, and whether anything else could notice their absence."""

from __future__ import annotations

import ast
import contextlib
import re
import symtable
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import nbformat
from nbformat.notebooknode import NotebookNode

from .master import is_answer, is_course_check, is_graded, nbgrader_metadata

OWN = "own-"  # how the ids of a learner's own cells begin
NOW = {"listcomp", "setcomp", "dictcomp", "genexpr"}  # scopes that run where they stand
LOOKS_AROUND = {"globals", "locals", "vars", "dir", "exec", "eval", "get_ipython", "__main__", "In", "Out", "_", "gc"}
CHANGES_SETTINGS = re.compile(
    r"\b(set_default_\w+|set_num_\w+|set_float32_matmul_precision|set_grad_enabled|use_deterministic_algorithms|"
    r"set_start_method|init_process_group|environ|chdir|setattr|delattr|settrace|setprofile|"
    r"write_text|write_bytes|to_csv|mkdir|unlink|rmtree|touch|savez|save_pretrained|save_model|save_state|dump)\b|"
    r"\bopen\(|\.save\(|\bimport \*|^\s*[%!]|"
    r"(?<![.\w])(globals|locals|exec|eval)\(|\b(get_ipython|__main__)\b|"
    r"\bsys\.(path\.|modules\[)|\bregister_module_\w*hook\b",
    re.MULTILINE,
)
OVERRIDES = re.compile(r"\bregister_module_\w+")  # the course's checks begin without any
SHARES_STATE = re.compile(r"[Aa]ccelerat(e|or)|Trainer|Training")
SHARED_STATE = re.compile(  # what Accelerate keeps of the first Accelerator for the whole process
    r"\b(mixed_precision|bf16|fp16|bf16_full_eval|fp16_full_eval|use_cpu|\w+_plugin|dynamo\w*|_shared_state)\b|"
    r"\b(Accelerator|Partial|Gradient)State\b"
)
RESETS_SHARED_STATE = "_reset_state("  # in a given cell: the lesson's checks do so as well
DRAWS = re.compile(r"rand|bernoulli|multinomial|normal_|uniform_|shuffle|choice|sample|[Dd]ropout|rng|seed")
REMEMBERS = re.compile(
    r"\bglobal\b|@(functools\.)?(lru_)?cache|__dict__|__defaults__|__main__|__globals__|__class__|_getframe|"
    r"\bf_(globals|locals|back)\b|\b(inspect|builtins|getrusage|psutil|tracemalloc|setattr|delattr|environ)\b|"
    r"\bmemory_(stats|allocated|reserved)\b"
)
CHANGING_METHODS = {
    *("append", "extend", "insert", "remove", "pop", "popitem", "clear", "sort", "reverse", "update", "setdefault"),
    *("add", "discard", "appendleft", "popleft"),
}
LIBRARIES = {"torch", "np", "numpy", "math", "operator"}  # as in `torch.add(a, b)`
CONSTANT = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple)
UNCHANGEABLE = {"lesson_device", "get_instance"}  # calls whose value nobody changes, or which each check resets
SETTLED = UNCHANGEABLE | {"plain_trainer_arguments", "hasattr"}  # calls whose value no random number changes
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
KEEPS = r"\b(global|nonlocal)\b|\bcache\b|\blru_cache\b"
Binding = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Use:
    """The names of one cell.

    Attributes:
        reads: Names that it, or a function of it, takes from the notebook.
        binds: Names that it binds in the notebook.
        objects: Those of them that are neither imported nor functions nor classes.
        later: Names that only a function of it takes from the notebook.
        loads: All names that it mentions, those aside that it only unpacks, as in `f(**settings)`.
    """

    reads: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
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

    None are left out if a cell that stays reads a name that they bind, if the learner's code, or a given function that
    it calls, reads an object that they use or one that may depend on random numbers, if it looks around, remembers
    calls or reads what Accelerate keeps for the process, or if they change settings of the process. Draws and overrides
    of the optimizer's format count only where the learner's code runs outside of the course's checks, which begin with
    random numbers and overrides of their own.
    """
    places = demonstrations(notebook)
    shown = [notebook.cells[index] for index in places]
    kept = [cell for index, cell in enumerate(notebook.cells) if cell.cell_type == "code" and index not in places]
    theirs = [cell for cell in kept if _is_own(cell) or is_answer(cell) or _is_free_check(cell)]
    given = [cell for cell in kept if not any(cell is other for other in theirs) and not is_graded(cell)]
    is_sealed = all(is_answer(cell) and _is_sealed(cell.source) for cell in theirs if cell.source.strip())
    if any(CHANGES_SETTINGS.search(cell.source) for cell in shown):
        return ()
    if any(_replaces_parts(cell.source, _names_of_parts((*given, *shown))) for cell in shown):
        return ()
    if not is_sealed and any(OVERRIDES.search(cell.source) for cell in (*shown, *given)):
        return ()
    is_reset = is_sealed and any(RESETS_SHARED_STATE in cell.source for cell in given)
    can_share = is_reset or not any(SHARES_STATE.search(cell.source) for cell in (*shown, *kept))
    if any(_is_telling(cell.source, can_draw=is_sealed, can_share=can_share) for cell in theirs):
        return ()
    try:
        if _meets(kept, theirs, shown) or _shares(given, theirs, shown) or _keeps_values(theirs):
            return ()
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(places)


def _meets(kept: Iterable[NotebookNode], theirs: Iterable[NotebookNode], shown: Iterable[NotebookNode]) -> bool:
    """Return whether cells that stay read, or the learner's bind, what demonstrations bind: same imports aside."""
    same = {found for cell in kept if not any(cell is own for own in theirs) for found in _imports(cell.source)}
    bound: set[str] = set()
    for cell in shown:
        repeated = {name for source, name in _imports(cell.source) if (source, name) in same}
        use = _use(cell.source)
        bound |= (use.binds - repeated) | use.objects
    reads = _union(_lenient_use(cell.source).reads for cell in kept)
    return bool((reads | _union(_lenient_use(cell.source).binds for cell in theirs)) & bound)


def _names_of_parts(cells: Iterable[NotebookNode]) -> set[str]:
    """Return the names of modules, functions and classes: what cells import or define."""
    names = {name for cell in cells for _, name in _imports(cell.source)}
    for cell in cells:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            names |= {node.name for node in ast.parse(cell.source).body if isinstance(node, Definition)}
    return names


def _replaces_parts(source: str, names: set[str]) -> bool:
    """Return whether a cell sets an attribute of a module, a function or a class, which whoever uses it would meet."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return False  # it does not run
    places = (ast.Attribute, ast.Subscript)
    changed = [node for node in nodes if isinstance(node, places) and not isinstance(node.ctx, ast.Load)]
    return any(_stored_in(node) in names for node in changed)


def _stored_in(node: ast.AST) -> str:
    """Return the name whose attributes, or theirs, are set; "" for what a call returned."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _remembers(statement: ast.stmt) -> bool:
    """Return whether a given function or class may keep something from one call to the next."""
    if not isinstance(statement, Definition):
        return False
    text = ast.unparse(statement)
    defaults = [
        value
        for node in ast.walk(statement)
        if isinstance(node, ast.arguments)
        for value in (*node.defaults, *node.kw_defaults)
    ]
    has_mutable_default = any(isinstance(value, ast.List | ast.Dict | ast.Set | ast.Call) for value in defaults)
    return has_mutable_default or bool(re.search(KEEPS, text)) or _changes_name(statement)


def _changes_name(statement: ast.stmt) -> bool:
    """Return whether the body of a function or class sets an attribute of that function or class, or of `cls`."""
    own = {getattr(statement, "name", ""), "cls"}
    changed = (node for node in ast.walk(statement) if isinstance(node, ast.Attribute | ast.Subscript))
    return any(not isinstance(node.ctx, ast.Load) and _stored_in(node) in own for node in changed)


def _shares(given: Iterable[NotebookNode], theirs: Iterable[NotebookNode], shown: Iterable[NotebookNode]) -> bool:
    """Return whether the learner's code reaches given objects that demonstrations use, or that random numbers made."""
    statements = [statement for cell in given for statement in ast.parse(cell.source).body]
    uses = [_use(ast.unparse(statement)) for statement in statements]
    known = list(zip(statements, uses, strict=True))
    fixed = _union(use.objects for statement, use in known if _calls_only(statement, UNCHANGEABLE))
    objects = _union(use.objects for use in uses) - fixed
    objects |= _union(use.binds for statement, use in known if _remembers(statement))
    unsettled = _union(use.objects for statement, use in known if not _calls_only(statement, SETTLED))
    reached = _reached(_union(_lenient_use(cell.source).reads for cell in theirs), uses)
    used = _reached(_union(_use(cell.source).loads for cell in shown), uses)
    return bool(reached & (unsettled | (objects & used)))


def _keeps_values(theirs: Iterable[NotebookNode]) -> bool:
    """Return whether a function of the learner's could keep a value from one call, of a demonstration, to the next."""
    uses = [_lenient_use(cell.source) for cell in theirs]
    if _union(use.objects for use in uses) & _union(use.later for use in uses):
        return True
    return any(_changes_others(cell.source) for cell in theirs)


def _changes_others(source: str) -> bool:
    """Return whether a function or class body changes what is no local name of it, or a class keeps an object."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return False  # it does not run
    outer = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    inner = {id(part) for node in outer for part in ast.walk(node) if part is not node}
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    if not all(_is_definition(statement) for body in bodies for statement in body):
        return True
    return any(_changes_a_global(node) for node in outer if id(node) not in inner)


def _changes_a_global(function: ast.AST) -> bool:
    parts = list(ast.walk(function))
    local = {"", *(part.arg for part in parts if isinstance(part, ast.arg))} - {"cls"}
    local |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return any(_root(part) not in local for part in parts if _is_change(part))


def _is_change(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        is_changing = isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING_METHODS
        return is_changing and _root(node) not in LIBRARIES
    return isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)


def _root(node: ast.AST) -> str:
    """Return the name at which an expression as `model.layers[0].weight` begins; "" for a new value, which is local."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _reached(names: frozenset[str], given: Sequence[Use]) -> frozenset[str]:
    """Return the names that code with these names uses, by way of given functions too."""
    reached = names
    while True:
        more = reached | _union(use.reads & use.loads for use in given if use.binds & reached)
        if more == reached:
            return reached
        reached = more


def _calls_only(statement: ast.stmt, settled: set[str]) -> bool:
    """Return whether a statement assigns a value by no calls but these."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return False
    calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
    names = [call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls]
    return (bool(names) or settled is not UNCHANGEABLE) and set(names) <= settled


def _is_sealed(source: str) -> bool:
    """Return whether a cell only imports and defines, so that nothing of it computes before a check calls it."""
    try:
        return all(_is_definition(statement) for statement in ast.parse(source).body)
    except (SyntaxError, ValueError, RecursionError):
        return True  # it does not run


def _is_definition(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        defaults = [*statement.args.defaults, *filter(None, statement.args.kw_defaults)]
        annotations = [argument.annotation for argument in ast.walk(statement.args) if isinstance(argument, ast.arg)]
        at_once = [*statement.decorator_list, *defaults, *filter(None, [statement.returns, *annotations])]
        return not any(isinstance(node, ast.Call) for part in at_once for node in ast.walk(part))
    if isinstance(statement, ast.ClassDef):
        at_once = [*statement.decorator_list, *statement.bases, *(keyword.value for keyword in statement.keywords)]
        is_plain = not any(isinstance(node, ast.Call) for part in at_once for node in ast.walk(part))
        return is_plain and all(_is_definition(inner) for inner in statement.body)
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass) or _is_constant(statement)


def _imports(source: str) -> set[tuple[str, str]]:
    """Return where each name comes from that the cell imports at its top level, and the name."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found = set()
    for statement in body:
        if isinstance(statement, ast.ImportFrom):
            found |= {(f"{statement.module}:{name.name}", name.asname or name.name) for name in statement.names}
        elif isinstance(statement, ast.Import):
            found |= {
                (name.name if name.asname else "", name.asname or name.name.split(".")[0]) for name in statement.names
            }
    return found


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


def _is_telling(source: str, *, can_draw: bool, can_share: bool) -> bool:
    """Return whether a learner's code could notice a cell that did not run, in a way that names do not show."""
    if (not can_draw and DRAWS.search(source)) or (not can_share and SHARED_STATE.search(source)):
        return True
    if REMEMBERS.search(source) or re.search(r"^\s*[%!?]", source, re.MULTILINE):
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
    functions_read: set[str] = set()
    tree = ast.parse(source)
    for statement in tree.body:
        table = symtable.symtable(ast.unparse(statement), "cell", "exec")
        now, later, bound = _names(table)
        reads |= (now - binds) | later
        functions_read |= later
        binds |= bound
        if not isinstance(statement, Binding):
            objects |= bound if not _is_constant(statement) else set()
    nodes = list(ast.walk(tree))
    unpacked = {
        id(part) for node in nodes if isinstance(node, ast.keyword) and node.arg is None for part in _joined(node.value)
    }
    unpacked |= {
        id(value)
        for node in nodes
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if key is None
    }
    loads = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in unpacked}
    return Use(frozenset(reads), frozenset(binds), frozenset(objects), frozenset(functions_read), frozenset(loads))


def _joined(value: ast.expr) -> list[ast.expr]:
    """Return what a dict is joined of, as in `settings | {"rows": 4}`, which leaves its parts as they are."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        return [*_joined(value.left), *_joined(value.right)]
    return [value]


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
