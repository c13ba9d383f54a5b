"""Describe what a confined process may see, hold and do, as plain data that reaches it through JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from grader.units import GIB, MIB

NAMESPACES, BUBBLEWRAP, LANDLOCK, NONE = "namespaces", "bubblewrap", "landlock", "none"
LADDER = (NAMESPACES, BUBBLEWRAP, LANDLOCK)
AUTO = "auto"
CHOICES = (AUTO, *LADDER, NONE)
WITH_LOOPBACK = (NAMESPACES, BUBBLEWRAP, NONE)  # the network of one machine, for exercises with several ranks


@dataclass(frozen=True)
class Bounds:
    """Limits of a confined process and all that it starts.

    Attributes:
        memory_bytes: Memory of all its processes together, and of each alone.
        processes: Processes and threads.
        scratch_bytes: Files that it writes, together.
        cpu_seconds: CPU time of each process.
    """

    memory_bytes: int = 6 * GIB
    processes: int = 512
    scratch_bytes: int = 512 * MIB
    cpu_seconds: int = 3600


@dataclass(frozen=True)
class Confinement:
    """One sandbox.

    Attributes:
        level: "namespaces", "bubblewrap" or "landlock".
        visible: Files and folders of the machine that it can read, at their own places.
        hidden: Folders within them of which it sees only what is visible itself.
        devices: Device files that it can use.
        run: Folder of this run, with three folders in it: see the properties.
        home: The home folder of the environment; empty inside.
        bounds: How much it may hold.
    """

    level: str
    visible: tuple[str, ...]
    hidden: tuple[str, ...]
    devices: tuple[str, ...]
    run: str
    home: str
    bounds: Bounds = Bounds()

    @property
    def files(self) -> str:
        """Folder whose files are copied to where the kernel runs, or in which it runs where nothing else can be had."""
        return f"{self.run}/files"

    @property
    def sockets(self) -> str:
        """Folder through which the kernel is spoken to."""
        return f"{self.run}/sockets"

    @property
    def root(self) -> str:
        """Empty folder that becomes the root of the kernel's file system."""
        return f"{self.run}/root"

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can carry."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Confinement:
        """Read what `to_dict` returned, also after JSON."""
        lists = {name: tuple(document[name]) for name in ("visible", "hidden", "devices")}
        return cls(**{**document, **lists, "bounds": Bounds(**document["bounds"])})
