"""Do once, in the process that workers are forked from, what each would do before its kernel starts.

Import it after `grader.classroom.running.worker`, which keeps a slow package away from jsonschema.
"""

from __future__ import annotations

import IPython.paths  # noqa: F401  # jupyter_client asks it where kernels are described
import nbformat
from jupyter_client.localinterfaces import local_ips
from jupyter_client.provisioning import KernelProvisionerFactory

nbformat.validate(nbformat.v4.new_notebook())  # compiles the schema
KernelProvisionerFactory.instance()  # reads the entry points of every package
local_ips()
