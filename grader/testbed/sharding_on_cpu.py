"""Lets Accelerate and the Trainer shard a model on ranks of a CPU, where they would make DistributedDataParallel."""

from __future__ import annotations

import functools
from typing import Any


def allow_sharding_on_cpu() -> None:
    """Make Accelerate keep its FSDP plugin on a CPU, for the rest of this process.

    `AcceleratorState` takes the plugin in its branch for accelerators only: with gloo ranks on a CPU it drops it, and
    the model is wrapped in DistributedDataParallel. PyTorch's `fully_shard` itself runs on gloo. This sets the two
    attributes that the branch would have set; everything else is the libraries' own code. On an accelerator it changes
    nothing, and calling it twice neither.

    Source: accelerate 1.15, state.py, AcceleratorState.__init__.
    """
    from accelerate.state import AcceleratorState, PartialState
    from accelerate.utils import DistributedType

    initialise = AcceleratorState.__init__
    if hasattr(initialise, "__wrapped__"):
        return

    @functools.wraps(initialise)
    def keep_plugin(self: Any, *arguments: Any, fsdp_plugin: Any = None, **keywords: Any) -> None:
        initialise(self, *arguments, fsdp_plugin=fsdp_plugin, **keywords)
        if fsdp_plugin is not None and self.distributed_type == DistributedType.MULTI_CPU:
            self.distributed_type = DistributedType.FSDP
            self.fsdp_plugin = fsdp_plugin
            PartialState._shared_state["distributed_type"] = DistributedType.FSDP

    AcceleratorState.__init__ = keep_plugin
