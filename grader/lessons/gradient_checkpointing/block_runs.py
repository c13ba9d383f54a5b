"""Records how often blocks run, before backward and within it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from grader.meters.peak import PeakMemory
from grader.observing.claims import measure_claimed_peak
from grader.observing.contract import fail


@dataclass
class BlockRecord:
    """Which blocks ran, by index, in order.

    Attributes:
        forwards: Before backward began.
        recomputed: While backward ran.
        is_training: Whether the block was in train mode, for each run.
        is_graph_made: Whether a graph was made, for each run before backward began.
        is_backward: Set by the check when backward begins.
    """

    forwards: list[int] = field(default_factory=list)
    recomputed: list[int] = field(default_factory=list)
    is_training: list[bool] = field(default_factory=list)
    is_graph_made: list[bool] = field(default_factory=list)
    is_backward: bool = False

    def restart(self) -> None:
        """Forget what was recorded: another forward begins."""
        for runs in (self.forwards, self.recomputed, self.is_training, self.is_graph_made):
            runs.clear()
        self.is_backward = False

    def facts(self) -> dict[str, Any]:
        """Return the runs as plain data."""
        modes = {"is_training": list(self.is_training), "is_graph_made": list(self.is_graph_made)}
        return {"forwards": list(self.forwards), "recomputed": list(self.recomputed), **modes}


@contextlib.contextmanager
def record_blocks(blocks: Sequence[nn.Module]) -> Iterator[BlockRecord]:
    """Record each run of a block while the context lasts; a module that is there twice counts as its first place."""
    record = BlockRecord()
    handles = []
    for module in dict.fromkeys(blocks):
        index = list(blocks).index(module)

        # A run that is stopped early, as torch's checkpoint stops it, has no end: so it is seen where it begins.
        def before_run(module: nn.Module, _: Any, index: int = index) -> None:
            record.is_training.append(module.training)
            if record.is_backward:
                record.recomputed.append(index)
            else:
                record.forwards.append(index)
                record.is_graph_made.append(torch.is_grad_enabled())

        handles.append(module.register_forward_pre_hook(before_run))
    try:
        yield record
    finally:
        for handle in handles:
            handle.remove()


def gradients_of(blocks: Sequence[nn.Module]) -> tuple[list[str], Tensor]:
    """Return the names of trainable parameters without a gradient, and all gradients in one vector, zeros for those."""
    trainable = [(name, p) for name, p in nn.ModuleList(blocks).named_parameters() if p.requires_grad]
    missing = [name for name, parameter in trainable if parameter.grad is None]
    found = [torch.zeros_like(p) if p.grad is None else p.grad for _, p in trainable]
    return missing, torch.cat([gradient.detach().flatten() for gradient in found])


def count_leaves(outputs: Tensor, parameters: Iterable[Tensor]) -> int:
    """Return how many of the parameters the graph of `outputs` leads to."""
    wanted, seen = {id(parameter) for parameter in parameters}, {outputs.grad_fn}
    found, waiting = 0, [outputs.grad_fn]
    while waiting:
        node = waiting.pop()
        found += id(getattr(node, "variable", None)) in wanted
        following = [] if node is None else [other for other, _ in node.next_functions if other not in seen]
        seen.update(following)
        waiting += following
    return found


def require_output(value: object, what: str, shape: torch.Size | None = None) -> Tensor:
    """Fail unless `value` is a tensor, of this shape where one is given."""
    expected = f"{what}: a torch.Tensor"
    if value is None:
        fail("returned_none", expected, "None", "You return nothing. Look at the end of your function.")
    if not isinstance(value, Tensor):
        fail("wrong_type", expected, type(value).__name__, "You return no tensor. Return what the block returns.")
    if shape is not None and value.shape != shape:
        found, look_at = f"shape {tuple(value.shape)}", "You return another shape than the block does."
        fail("wrong_shape", f"{what}, of shape {tuple(shape)}", found, look_at)
    return value


def require_run(value: object) -> Callable[[Tensor], Any]:
    """Fail unless `value` can be called on an input."""
    expected = "a function that takes an input and returns the output of the blocks"
    if value is None:
        fail("returned_none", expected, "None", "You return nothing. Return the inner function.")
    if isinstance(value, Tensor):
        fail("output_returned", expected, "a tensor", "You call the inner function. Return it without calling it.")
    if not callable(value):
        fail("wrong_type", expected, type(value).__name__, "You return no function. Return one that takes an input.")
    return value


def measure_blocks(
    run: Callable[[Tensor], Tensor], model: Iterable[nn.Module], inputs: Tensor
) -> tuple[PeakMemory, dict[str, Any]]:
    """Measure the peak of one forward and backward.

    Args:
        run: Takes the input, calls the blocks, returns the output.
        model: The blocks.
        inputs: The input.

    Returns:
        The peak, and which blocks ran in the measured call.
    """
    blocks = nn.ModuleList(model)
    with record_blocks(list(blocks)) as record:
        try:
            peak = measure_claimed_peak(lambda: _step(run, blocks, inputs, record), model=blocks, inputs=inputs)
        except ValueError as error:
            if "more memory" not in str(error):
                raise
            fail(
                "memory_kept",
                "no tensor kept after the call",
                str(error),
                "You keep tensors beyond backward. Look for lists and globals.",
            )
    return peak, record.facts()


def _step(run: Callable[[Tensor], Tensor], blocks: nn.Module, inputs: Tensor, record: BlockRecord) -> None:
    blocks.zero_grad()
    record.restart()
    outputs = run(inputs)
    record.is_backward = True
    if outputs.requires_grad:
        torch.autograd.backward(outputs.sum())
