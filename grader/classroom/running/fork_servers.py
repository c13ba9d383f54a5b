"""The fork servers of this process: one for kernels, one for the workers that talk to them."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from .fork_client import ForkServer

PROVISIONER = "lean-training-fork"
PROVISIONER_VARIABLE = "JUPYTER_DEFAULT_PROVISIONER_NAME"
SERVER_VARIABLE = "LEAN_TRAINING_FORK_SERVER"
CONFINEMENT_VARIABLE = "LEAN_TRAINING_CONFINEMENT"
# What a learner's notebook imports, and nothing that judges it.
KERNEL_MODULES = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.debugger",  # every kernel imports it, half of what its start costs
    "torch",
    "torch.optim",
    "torch.utils.data",
    "torch._subclasses.fake_tensor",
    "matplotlib.figure",
    "accelerate",
    "datasets",
    "transformers",
    "transformers.trainer",
    "transformers.models.bert.modeling_bert",
    "transformers.models.distilbert.modeling_distilbert",
    "grader.meters.measurement",
)
BARE_MODULES = ("ipykernel.kernelapp", "ipykernel.ipkernel")
WORKER_MODULES = (
    "grader.classroom.running.worker",
    "jupyter_client.provisioning",
    "grader.classroom.running.provisioner",
    "grader.classroom.running.warm_worker",
)

_servers: dict[Sequence[str], ForkServer] = {}
_starting = threading.Lock()


def can_fork() -> bool:
    """Whether kernels are forked here by default: on Linux without an NVIDIA GPU.

    A process that has spoken to CUDA must not be forked, and no run on a GPU has shown yet that the server has not.
    """
    return sys.platform == "linux" and not Path("/dev/nvidiactl").exists()


def kernel_server() -> ForkServer:
    """Return the server that forks kernels; the first call starts it."""
    return _running(KERNEL_MODULES)


def bare_server() -> ForkServer:
    """Return the server of kernels that import the libraries themselves: it has met neither PyTorch nor CUDA."""
    return _running(BARE_MODULES)


def worker_server() -> ForkServer:
    """Return the server that forks workers; the first call starts it."""
    return _running(WORKER_MODULES)


def _running(modules: Sequence[str]) -> ForkServer:
    """Return the server for these modules. One that a submission has killed is replaced."""
    with _starting:
        server = _servers.get(modules)
        if server is None or not server.is_alive:
            server = _servers[modules] = ForkServer(modules)
            atexit.register(server.close)
        return server
