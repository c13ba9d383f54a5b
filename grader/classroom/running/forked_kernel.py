"""Turn a forked process into an IPython kernel; this module shares that process with a learner's code."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable

PACKAGES = ("site-packages", "dist-packages")
INLINE_BACKEND = "module://matplotlib_inline.backend_inline"


def run_kernel(arguments: list[str], *, ready: Callable[[], None]) -> None:
    """Run a kernel until it is asked to end.

    Args:
        arguments: Those of ipykernel_launcher, the connection file among them.
        ready: Called when the kernel listens.
    """
    from ipykernel.kernelapp import IPKernelApp

    sys.argv = ["ipykernel_launcher", *arguments]
    _settle_libraries()
    application = IPKernelApp.instance()
    application.parent_handle = 1  # nobody to watch: the fork server ends the kernel
    application.initialize(arguments)
    _import_from_folder()
    ready()
    application.start()


def _import_from_folder() -> None:
    """Make modules next to the notebook importable, as in any kernel; the server's own path lacks that folder."""
    packages = (at for at, path in enumerate(sys.path) if os.path.basename(path) in PACKAGES)
    if "" not in sys.path:
        sys.path.insert(next(packages, len(sys.path)), "")


def _settle_libraries() -> None:
    """Make what the fork has imported look as if it were imported here: threads, figures, random numbers, folders."""
    tempfile.tempdir = None  # the server has looked for its own, which a sandbox may close
    threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    torch, matplotlib, numpy = (sys.modules.get(name) for name in ("torch", "matplotlib", "numpy"))
    if torch is not None:
        torch.set_num_threads(threads)
    if matplotlib is not None:
        matplotlib.rcParams["backend"] = os.environ.get("MPLBACKEND") or INLINE_BACKEND
    if numpy is not None:
        numpy.random.seed()
