"""Kill a training run at random moments, resume it, and compare each bit with an uninterrupted run.

Run: python benchmarks/resume_after_kills.py [--kills 20] [--seed 0]

Three tables are printed: what a resume loses when its checkpoint lacks a part, what a fresh read finds after a save was
killed at a given byte, and how many runs that got a SIGKILL end with the weights, optimizer, schedule, loss scale and
generators of the uninterrupted run. Exit status 1 if an atomic save lost a checkpoint or a resumed run differs. Needs
a system with fork, such as Linux.
"""

from __future__ import annotations

import argparse
import copy
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

EPOCHS, MICRO_BATCHES, ROWS, GROUP = 6, 41, 16, 4  # 41 = 10 groups of 4 and a short one of 1
SAVE_EVERY = 2  # updates
State = dict[str, Any]
Save = Callable[[State, Path], None]
PARTS = {
    "weights": ("model",),
    "optimizer": ("optimizer",),
    "scheduler": ("scheduler",),
    "loss scale": ("scaler",),
    "data position": ("epoch", "position", "order"),
    "RNG": ("rng",),
}


class Run:
    """A run with dropout, accumulation, a schedule, a loss scale and its own order of the rows."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.rows = torch.randn(MICRO_BATCHES * ROWS, 32)
        self.targets = self.rows[:, :4].prod(dim=1, keepdim=True)
        self.model = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        updates = EPOCHS * -(-MICRO_BATCHES // GROUP)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, updates)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=5)
        self.generator = torch.Generator().manual_seed(1)
        self.order = self.generator.get_state()  # at the start of the epoch, before its permutation is drawn
        self.epoch = self.position = 0

    def state(self) -> State:
        """Return all that the next update depends on."""
        parts = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler", "scaler")}
        counts = {"epoch": self.epoch, "position": self.position, "order": self.order}
        return {**parts, **counts, "rng": torch.get_rng_state()}

    def load(self, state: State, names: tuple[str, ...] | None = None) -> None:
        """Restore the named entries of a state, or all of them; the generator of dropout comes last.

        The optimizer goes on in the tensors of the state that it gets, so a state that is kept must be copied first.
        """
        for name in state if names is None else names:
            if name in ("model", "optimizer", "scheduler", "scaler"):
                getattr(self, name).load_state_dict(state[name])
            elif name != "rng":
                setattr(self, name, state[name])
        if names is None or "rng" in names:
            torch.set_rng_state(state["rng"])

    def micro_batch(self, rows: Tensor, group: int) -> None:
        """Add the gradient of one micro-batch to those of its group."""
        with torch.autocast("cpu", torch.float16):
            outputs = self.model(self.rows[rows])
        loss = nn.functional.mse_loss(outputs.float(), self.targets[rows]) / group
        self.scaler.scale(loss).backward()

    def update(self) -> None:
        """Update the weights, the loss scale and the learning rate."""
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.optimizer.zero_grad()

    def train(self, saved: Callable[[State], None], updates: int | None = None) -> None:
        """Train from the current position to the end, or for some updates; save between groups, never within one."""
        done = 0
        while self.epoch < EPOCHS:
            self.generator.set_state(self.order)
            batches = torch.randperm(len(self.rows), generator=self.generator).split(ROWS)
            while self.position < MICRO_BATCHES:
                group = batches[self.position : self.position + GROUP]
                for rows in group:
                    self.micro_batch(rows, len(group))
                self.update()
                self.position += len(group)
                done += 1
                if done % SAVE_EVERY == 0:
                    saved(self.state())
                if done == updates:
                    return
            self.epoch, self.position, self.order = self.epoch + 1, 0, self.generator.get_state()


def save_in_place(state: State, path: Path) -> None:
    """Overwrite the only checkpoint."""
    torch.save(state, path)


def save_atomically(state: State, path: Path) -> None:
    """Write next to the old checkpoint, in the same file system, and replace it once the bytes are on the disk."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)  # the new name is in the folder: it is written out too
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two states agree in each bit."""
    if isinstance(one, Tensor):
        return isinstance(other, Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(is_equal(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return bool(one == other)


def read(path: Path) -> State:
    """Read a checkpoint without running code that it may hold."""
    state: State = torch.load(path, weights_only=True)
    return state


def resume(folder: Path) -> None:
    """Start a run, or resume it from its folder, and train it to the end."""
    run, path = Run(), folder / "checkpoint.pt"
    if path.exists():
        run.load(read(path))
    run.train(lambda state: save_atomically(state, path))
    save_atomically(run.state(), folder / "last.pt")


def fork(work: Callable[[], None]) -> int:
    """Run a function in a forked process and return the id of the process."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def weights_of(state: State) -> Tensor:
    """Return all weights in one tensor."""
    return torch.cat([weights.flatten() for weights in state["model"].values()])


def print_missing_parts() -> None:
    """Print how far a run ends from the uninterrupted one, with parts added one by one and with one part left out."""
    run = Run()
    start = weights_of(run.state()).clone()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        run.train(lambda state: save_atomically(state, path), updates=38)  # in the middle of the fourth epoch
        run.train(lambda state: None)
        whole, checkpoint = weights_of(run.state()), read(path)

    def distance(parts: list[str]) -> float:
        resumed = Run()
        torch.manual_seed(2)  # a new process does not repeat the masks of the old one
        resumed.load(copy.deepcopy(checkpoint), tuple(name for part in parts for name in PARTS[part]))
        if "data position" not in parts:
            resumed.epoch = checkpoint["epoch"]  # restart the epoch: the usual mistake
        resumed.train(lambda state: None)
        return float((weights_of(resumed.state()) - whole).norm() / (whole - start).norm())

    names = list(PARTS)
    print("distance to the uninterrupted run, as a part of its movement")
    for count, name in enumerate(names, start=1):
        others = [other for other in names if other != name]
        print(f"  up to {name:14} {distance(names[:count]):.4f}    all except it {distance(others):.4f}")


def is_lost(save: Save, old: State, new: State, limit: int, folder: Path) -> bool:
    """Kill a save when a file would exceed `limit` bytes; return whether neither state can be read afterwards."""
    path = folder / "checkpoint.pt"
    torch.save(old, path)

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it; its default ends the process at that byte
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        save(new, path)

    os.waitpid(fork(work), 0)
    try:
        found = read(path)
    except Exception:  # a truncated archive is reported in several ways
        return True
    return not (is_equal(found, old) or is_equal(found, new))


def count_lost_saves(saves: int, draw: random.Random) -> int:
    """Print how many killed saves lose the checkpoint; return the number for the atomic one."""
    states: list[State] = []
    Run().train(lambda state: states.append(copy.deepcopy(state)), 4)
    lost = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        torch.save(states[1], folder / "size.pt")
        size = (folder / "size.pt").stat().st_size
        limits = [0, 1, size - 1] + [draw.randrange(size) for _ in range(saves - 3)]
        for save in (save_in_place, save_atomically):
            lost[save] = sum(is_lost(save, states[0], states[1], limit, folder) for limit in limits)
            print(f"killed at one of {len(limits)} bytes of {size}: {save.__name__:16} loses {lost[save]} checkpoints")
    return lost[save_atomically]


def finish(folder: Path) -> None:
    """Start or resume a run in a process of its own and wait for its end.

    Raises:
        RuntimeError: if the run failed.
    """
    if os.waitstatus_to_exitcode(os.waitpid(fork(lambda: resume(folder)), 0)[1]):
        raise RuntimeError(f"the run in {folder} failed")


def is_killed(folder: Path, seconds: float) -> bool:
    """Start a run and kill it after some seconds; return False if it ended before, or had no checkpoint to resume from.

    Raises:
        RuntimeError: if the run failed.
    """
    process = fork(lambda: resume(folder))
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the run in {folder} failed")
    return code != 0 and (folder / "checkpoint.pt").exists()


def count_equal_runs(kills: int, draw: random.Random) -> int:
    """Return how many of the killed runs end as the uninterrupted one, in each bit of their state."""
    equal = done = within_saves = 0
    with tempfile.TemporaryDirectory() as name:
        start = time.perf_counter()
        finish(Path(name))
        seconds, whole = time.perf_counter() - start, read(Path(name) / "last.pt")
    while done < kills:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if is_killed(folder, draw.uniform(0, seconds)):
                done += 1
                within_saves += (folder / "checkpoint.tmp").exists()
                finish(folder)
                equal += is_equal(read(folder / "last.pt"), whole)
    print(
        f"{equal} of {kills} runs resumed after a kill end bit-exact ({within_saves} of the kills came during a save)"
    )
    return equal


def main() -> int:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    draw = random.Random(options.seed)
    print_missing_parts()
    lost = count_lost_saves(40, draw)
    equal = count_equal_runs(options.kills, draw)
    return int(lost > 0 or equal < options.kills)


if __name__ == "__main__":
    sys.exit(main())
