"""Test whether the checks in a kernel can still be trusted.

The canary comes back from any kernel that runs what it is sent; before a judged check, it also says whether the check
is the course's own. The control hands a check the untouched exercise, where it must not pass. All catch common
tricks; only what is judged outside is sound.
"""

from __future__ import annotations

import ast
import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode

from .execution import OK
from .notebook_client import CappedClient, printed_text

LONGEST_TEXT = 1000
HELPER, FILE = "helper ", "file "  # prefixes of the probe's places in modules and files next to the notebook
TRUSTED = ("transformers of cells", "the shell's ")  # how the places begin that decide what a cell of asserts runs
HOOKS = Path(__file__).with_name("hook_probe.py").read_text(encoding="utf-8")
IDENTITIES = Path(__file__).with_name("identity_probe.py").read_text(encoding="utf-8")
# In one namespace of their own, so that they leave no name in the learner's.
RUN_PROBE = """\
exec({code!r}, {{"__name__": "probe", "said": {token!r}, **{values!r}}})"""
TELL = """
import json
from IPython import get_ipython
shell = get_ipython()
print(said + json.dumps({expression}))
"""
BIND = """
import random, sys
from IPython import get_ipython
shell = get_ipython()
space = shell.user_ns
numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
shell._control = dict(space), random.getstate(), numpy and numpy.random.get_state(), torch and torch.get_rng_state()
for name in names:
    space.pop(name, None)
scratch = dict(space)
try:
    exec(compile(stub, shell.compile.get_code_name(stub, stub, 0), "exec"), scratch)  # named as any cell
except Exception:
    pass
space.update({name: scratch[name] for name in names if name in scratch})
shell._control_mode = shell.InteractiveTB.mode
shell.InteractiveTB.set_mode("Minimal")  # nobody reads it, and a full traceback takes longer than the check
"""
RESTORE = """
import random, sys
from IPython import get_ipython
shell = get_ipython()
space = shell.user_ns
kept, state, numpy_state, torch_state = shell.__dict__.pop("_control")
for name in [name for name in space if name not in kept and not name.startswith("_")]:
    del space[name]
space.update({name: value for name, value in kept.items() if not name.startswith("_")})
random.setstate(state)
if numpy_state is not None:
    sys.modules["numpy"].random.set_state(numpy_state)
if torch_state is not None:
    sys.modules["torch"].set_rng_state(torch_state)
shell.InteractiveTB.set_mode(shell.__dict__.pop("_control_mode"))
"""


async def canary_returns(client: CappedClient) -> bool:
    """Return whether the kernel still runs what it is sent: a random line is printed."""
    token = secrets.token_hex()
    state, cell = await client.run_source(f"print('{token}')")
    return state != OK or token in printed_text(cell)


async def probe_hooks(client: CappedClient) -> dict[str, str]:
    """Return the code between a cell and its result that comes from no library; {} if the kernel gives no answer."""
    return _texts(await _probe(client, HOOKS, "foreign_hooks(shell)"))


async def replaced_transforms(client: CappedClient, before: Mapping[str, str]) -> list[str]:
    """Return what the notebook put between the cells that it is sent and what it runs, since `probe_hooks` looked."""
    after = _texts(await _probe(client, HOOKS, "foreign_transforms(shell)"))
    return sorted(place for place in after if before.get(place) != after[place])


def _texts(found: Any) -> dict[str, str]:
    return {str(place): str(digest) for place, digest in found.items()} if isinstance(found, dict) else {}


async def probe_originals(client: CappedClient, homes: Mapping[str, str]) -> dict[str, str]:
    """Import the checks of a notebook, and return the identities of what they consist of, by module.

    Args:
        client: The client of a kernel that has run no code of a learner's.
        homes: For each judged check, its module.
    """
    return _texts(await _probe(client, IDENTITIES, "import_checks(homes) or identities()", homes=dict(homes)))


async def replaced_originals(
    client: CappedClient, before: Mapping[str, str], check: str, home: str
) -> list[str] | None:
    """Return what a judged check consists of and the notebook replaced; None if the kernel gives no answer.

    Args:
        client: The client of the kernel.
        before: What `probe_originals` returned.
        check: The check's name.
        home: Its module.
    """
    expression = "[foreign_checks(homes, shell.user_ns), identities(names)]"
    found = await _probe(client, IDENTITIES, expression, homes={check: home}, names=[*before])
    if not (isinstance(found, list) and len(found) == 2 and isinstance(found[1], dict)):
        return None
    return [*map(str, found[0]), *(module for module, digest in before.items() if found[1].get(module) != digest)]


async def _probe(client: CappedClient, code: str, expression: str, **values: object) -> Any:
    """Return what an expression after the code of a probe gives in the kernel; None if it gives no answer."""
    token = secrets.token_hex()
    code += TELL.format(expression=expression)
    _, cell = await client.run_source(RUN_PROBE.format(code=code, token=token, values=values))
    try:
        return json.loads(printed_text(cell).partition(token)[2])
    except ValueError:
        return None


def changed_hooks(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Return the hooks that changed while the notebook ran."""
    places = [place for place in before.keys() | after.keys() if not place.startswith((HELPER, FILE))]
    return {place for place in places if before.get(place) != after.get(place)}


def hook_notes(places: Iterable[str]) -> list[str]:
    """Return what the instructor may want to know of hooks that changed while the notebook ran."""
    changed = sorted(places)
    if not changed:
        return []
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return [f"the notebook changes {', '.join(changed[:3])}{more}"[:LONGEST_TEXT]]


def support_digests(folder: Path) -> dict[str, str]:
    """Return the digests of the modules next to the notebook, before any code can change them."""
    paths = [path for path in folder.rglob("*.py") if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def replaced_evidence(before: Mapping[str, str], after: Mapping[str, str], support: Mapping[str, str]) -> list[str]:
    """Return what checks in the kernel rest on and the notebook replaced: they are no evidence then.

    Args:
        before: What `probe_hooks` returned before the first cell.
        after: The same after the last one.
        support: What `support_digests` returned; no other file is looked at, whatever the kernel names.
    """
    changed = [at for at in sorted(after) if before.get(at) != after[at]]
    replaced = [at.removeprefix(HELPER) for at in changed if at.startswith((HELPER, *TRUSTED))]
    files = [at.removeprefix(FILE) for at in changed if at.startswith(FILE)]
    return replaced + [name for name in files if support.get(name, after[FILE + name]) != after[FILE + name]]


def names_defined(stub: str) -> list[str]:
    """Return the functions and classes that an exercise defines; [] if it defines none, and so has no control."""
    try:
        statements = ast.parse(stub).body
    except (SyntaxError, ValueError, RecursionError):
        return []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [statement.name for statement in statements if isinstance(statement, kinds)]


async def run_control(client: CappedClient, cell: NotebookNode, exercise: str, stub: str) -> dict[str, Any] | None:
    """Ask a check about the untouched exercise, and leave the learner's names as they were.

    Args:
        client: The client of the kernel.
        cell: The check.
        exercise: The exercise's function.
        stub: The exercise's cell as it was handed out.

    Returns:
        What CellRun.control holds; None if the exercise defines nothing that could be exchanged.
    """
    names = names_defined(stub)
    if not names:
        return None
    call = stub_call(cell.source, exercise, stub)
    if call is None:
        await client.run_source(f"exec({BIND!r}, {{'stub': {stub!r}, 'names': {names!r}}})")
    state, control = await client.run_source(call or cell.source)
    observations = list(client.observations)
    if call is None:
        await client.run_source(f"exec({RESTORE!r}, {{}})")
    results = [
        output.data.get("text/plain", "") for output in control.outputs if output.output_type == "execute_result"
    ]
    text, result = printed_text(control)[:LONGEST_TEXT], str(results[-1])[:LONGEST_TEXT] if results else None
    return {"state": state, "observations": observations, "text": text, "result": result}


def stub_call(source: str, exercise: str, stub: str) -> str | None:
    """Return a check's call with the untouched exercise in place of the answer; None if it is no such call.

    The stub is run in a copy of the learner's names: its first line may use what the lesson imports.
    """
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    call = statements[0].value if len(statements) == 1 and isinstance(statements[0], ast.Expr) else None
    if not (isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name)):
        return None
    if call.args[0].id != exercise:
        return None
    builtins = "__import__('builtins')"
    names = f"{{**{builtins}.globals(), {exercise!r}: None}}"
    name = f"__import__('IPython').get_ipython().compile.get_code_name({stub!r}, {stub!r}, 0)"  # as any cell
    run = f"{builtins}.exec({builtins}.compile({stub!r}, {name}, 'exec'), names)"
    call.args[0] = ast.parse(f"(lambda names: ({run}, names[{exercise!r}])[1])({names})", mode="eval").body
    return ast.unparse(call)
