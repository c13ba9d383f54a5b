"""What runs in a rank: meet the others, call the function, leave what came of it in a file."""

from __future__ import annotations

import datetime
import faulthandler
import inspect
import json
import linecache
import os
import signal
import sys
import time
import traceback
import types
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist

from grader.ranks.collectives import CollectiveLog
from grader.ranks.messages import Messages
from grader.ranks.source import written_line
from grader.ranks.traffic import Traffic

GRACE_SECONDS = 5
GLOO_SIGN = "gloo/transport"
GLOO_LOST = "the connection to another rank was lost"
_GIVEN = ("rank", "world_size", "send", "receive")


def run_rank(job: dict[str, Any], rank: int) -> NoReturn:
    """Run a job's function as one rank, in a process that ends with it.

    Args:
        job: "source", the text of "file"; "definitions", where it was written; "function"; "folder" with
            `arguments.pt`, where each rank leaves `<rank>.pt` or, after an exception, `<rank>.json`; "world_size",
            "limit_seconds", "receive_seconds"; "path", where modules are.
        rank: Number of this rank.
    """
    folder = Path(job["folder"])
    _settle_in(job, rank, folder)
    exit_code = 1
    try:
        outcome = _call(job, rank, folder)
        torch.save(outcome, folder / f"{rank}.part")
        (folder / f"{rank}.part").rename(folder / f"{rank}.pt")
        dist.barrier()
        exit_code = 0
    except BaseException as error:  # a function may raise SystemExit as well
        if not (folder / f"{rank}.pt").exists():
            (folder / f"{rank}.part").write_text(json.dumps(_described(error, job)))
            (folder / f"{rank}.part").rename(folder / f"{rank}.json")  # whole, whenever this process is stopped
    finally:
        sys.stdout.flush()
        os._exit(exit_code)


def _settle_in(job: dict[str, Any], rank: int, folder: Path) -> None:
    """Make this process a rank: its variables, its streams, its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.alarm(int(job["limit_seconds"]) + GRACE_SECONDS)
    world_size = str(job["world_size"])
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": world_size, "LOCAL_WORLD_SIZE": world_size}
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor, name in ((1, "printed"), (2, "stderr")):
        opened = os.open(folder / f"{rank}.{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, descriptor)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)
    faulthandler.register(signal.SIGUSR1, file=open(folder / f"{rank}.stack", "w"), all_threads=False)


def _call(job: dict[str, Any], rank: int, folder: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    sys.path[:] = job["path"]
    store = torch._C._distributed_c10d.FileStore(str(folder / "store"), job["world_size"])
    limit = datetime.timedelta(seconds=job["limit_seconds"])
    own = _take_own_arguments(folder, rank)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=job["world_size"], timeout=limit)
    module = load_module(job["source"], job["file"])
    arguments = torch.load(folder / "arguments.pt", weights_only=True) | own
    arguments |= {name: getattr(module, name) for name in job["functions"]}
    value, traffic = call_function(getattr(module, job["function"]), arguments, job["receive_seconds"])
    return {"value": plain_copy(value), "traffic": asdict(traffic)}


def own_arguments(folder: Path, rank: int) -> Path:
    """Return the file with the arguments that no other rank has."""
    return folder / f"own.{rank}.pt"


def _take_own_arguments(folder: Path, rank: int) -> dict[str, Any]:
    """Load the arguments of this rank and delete their file: before the ranks meet, so none reads another's."""
    path = own_arguments(folder, rank)
    if not path.exists():
        return {}
    arguments: dict[str, Any] = torch.load(path, weights_only=True)
    path.unlink()
    return arguments


def load_module(source: str, file: str) -> types.ModuleType:
    """Import the text of a file as a module of its own.

    The file itself is not read, nor what Python compiled of it before: another run may have written it since.
    """
    module = types.ModuleType(f"ranks_{Path(file).stem}")
    module.__file__ = file
    sys.modules[module.__name__] = module
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), vars(module))
    return module


def call_function(function: Any, arguments: dict[str, Any], receive_seconds: float) -> tuple[Any, Traffic]:
    """Call a function in this rank with its arguments and what it asks for by name, and log what it communicates."""
    messages = Messages(receive_seconds)
    given = (dist.get_rank(), dist.get_world_size(), messages.send, messages.receive)
    wanted = inspect.signature(function).parameters
    arguments = arguments | {name: value for name, value in zip(_GIVEN, given, strict=True) if name in wanted}
    with CollectiveLog() as log:
        value = function(**arguments)
    traffic = messages.settle()
    return value, Traffic((*traffic.events, *log.events), traffic.unread_messages)


def plain_copy(value: Any) -> Any:
    """Return a copy of what a rank returns, without graphs.

    Raises:
        TypeError: It holds something else than tensors, numbers, texts, None, lists, tuples and dicts.
    """
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, list | tuple):
        return type(value)(map(plain_copy, value)) if type(value) in (list, tuple) else list(map(plain_copy, value))
    if isinstance(value, dict):
        return {plain_copy(name): plain_copy(part) for name, part in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"a rank returns tensors, numbers, texts, and lists or dicts of them; this is of type {type(value).__name__}"
    )


def _described(error: BaseException, job: dict[str, Any]) -> dict[str, Any]:
    """Describe an exception by the lines of the run's own file."""
    file = job["file"]
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [index for index, (frame, _) in enumerate(frames) if frame.f_code.co_filename == file]
    message = GLOO_LOST if GLOO_SIGN in str(error) else str(error)
    described = {"error_name": type(error).__name__, "message": message, "seconds": time.monotonic()}
    if own:
        frame, line_number = frames[own[-1]]
        shown = [traceback.extract_tb(error.__traceback__)[index] for index in own]
        described |= {
            "function": frame.f_code.co_name,
            "line_number": written_line(job["definitions"], line_number),
            "line": linecache.getline(file, line_number).strip(),
            "began_there": own[-1] == len(frames) - 1,
            "lines": "".join(traceback.format_list(shown)).splitlines(),
        }
    return described
