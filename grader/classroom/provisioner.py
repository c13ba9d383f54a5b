"""Entry point: the kernel provisioner `lean-training-fork`.

The metadata of an installed package hold this dotted name, so it stays, whatever becomes of the code behind it.
"""

from grader.classroom.running.provisioner import ForkProvisioner

__all__ = ["ForkProvisioner"]
