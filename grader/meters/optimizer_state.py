"""How much an optimizer remembers between steps."""

from __future__ import annotations

import torch

from grader.meters.storages import distinct_storage_bytes, leaves_in, optimizer_state_tensors


def optimizer_state_bytes(optimizer: torch.optim.Optimizer) -> int:
    """Count the bytes of the optimizer's state.

    Only tensors count, each storage once: what two parameters share is held once.

    Args:
        optimizer: An optimizer that has taken a step; before the first one most optimizers hold nothing.

    Returns:
        Bytes, on every device together.
    """
    return distinct_storage_bytes(optimizer_state_tensors(optimizer))


def optimizer_state_elements(optimizer: torch.optim.Optimizer) -> int:
    """Count the elements of the optimizer's state.

    Each tensor counts once. A step counter is one element in every optimizer: some keep it as a tensor of one number,
    others as a plain number.

    Args:
        optimizer: An optimizer that has taken a step; before the first one most optimizers hold nothing.

    Returns:
        Elements of all state together, whatever their format.
    """
    leaves = list(leaves_in(list(optimizer.state.values())))
    tensors = {id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.Tensor)}
    return sum(tensor.numel() for tensor in tensors.values()) + sum(type(leaf) in (int, float) for leaf in leaves)
