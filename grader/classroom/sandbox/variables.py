"""Choose the environment of a kernel: in a sandbox, only what Python and the libraries need."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import grader

from .confinement import LANDLOCK, Confinement
from .landlock import scratch_folder
from .namespaces import USER

KEPT = {
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "MPLBACKEND",
    "ATEN_CPU_CAPABILITY",  # a kernel that draws with other instructions than its judge would answer in other bits
}
KEPT_BEGINNINGS = (
    "LC_",
    "PYTHON",
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "ONEDNN_",
    "DNNL_",
    "MALLOC_",
    "LEAN_TRAINING_",
    "TOKENIZERS_",
    "TORCH",
    "PYTORCH_",
    "NCCL_",
    "GLOO_",
    "CUDA_",
    "NVIDIA_",
    "HF_",
    "TRANSFORMERS_",
)
SECRET_ENDINGS = ("TOKEN", "KEY", "SECRET", "PASSWORD")
FOR_THE_RUNNER = (
    "LEAN_TRAINING_FORK_SERVER",
    "LEAN_TRAINING_CONFINEMENT",
    "JUPYTER_DEFAULT_PROVISIONER_NAME",
    "JPY_PARENT_PID",
)


def plain_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Python and the libraries need; none that may hold a secret."""
    kept = {name: value for name, value in environment.items() if name in KEPT or name.startswith(KEPT_BEGINNINGS)}
    return {name: value for name, value in kept.items() if not name.endswith(SECRET_ENDINGS)}


def kernel_variables(environment: Mapping[str, str], confinement: Confinement | None) -> dict[str, str]:
    """Return what a kernel finds in its environment.

    Args:
        environment: That of the process that starts it.
        confinement: The sandbox in which it runs, or None.
    """
    variables = {name: value for name, value in environment.items() if name not in FOR_THE_RUNNER}
    if confinement is None:
        return variables
    kept = plain_variables(variables)
    home = scratch_folder(confinement) if confinement.level == LANDLOCK else confinement.home
    temporary = home if confinement.level == LANDLOCK else "/tmp"
    return kept | {"HOME": home, "TMPDIR": temporary, "USER": USER, "LOGNAME": USER}


def with_import_path(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with this very package first in PYTHONPATH."""
    package = str(Path(grader.__file__).resolve().parents[1])
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, [package, environment.get("PYTHONPATH")]))}
