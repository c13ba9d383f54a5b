"""Records which graphs Dynamo hands to a backend, and where it breaks them. No backend here needs a compiler."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

NAMED_BACKENDS = ("eager", "aot_eager")  # Inductor is no name by the time that Dynamo sees it


@dataclass
class Captured:
    """What Dynamo captured.

    Attributes:
        backends: The backend of each graph, in the order of compilation.
        breaks: The reason of each break, its first line.
        calls: How often each graph ran.
        rows: The first dimension of each graph's first tensor of integers; 0 where there is none.
        sums: Of each run of a graph, the sum of each matrix of integers.
    """

    backends: list[str] = field(default_factory=list)
    breaks: list[str] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    sums: list[list[int]] = field(default_factory=list)

    def backend(self, name: str) -> Callable[..., Callable[..., Any]]:
        """Return a backend that notes each graph and runs it as it is."""

        def compile_graph(graph: Any, inputs: Sequence[Any], **_: Any) -> Callable[..., Any]:
            number = len(self.backends)
            self.backends.append(name)
            self.calls.append(0)
            self.rows.append(_rows_of(inputs))
            reason = getattr(graph, "compile_subgraph_reason", None)
            if reason is not None and reason.graph_break:
                self.breaks.append(str(reason.reason).splitlines()[0])

            def run(*arguments: Any) -> Any:
                self.calls[number] += 1
                self.sums.append([int(value.sum()) for value in _integers(arguments) if value.dim() > 1])
                return graph.forward(*arguments)

            return run

        return compile_graph


def _integers(inputs: Sequence[Any]) -> list[torch.Tensor]:
    return [value for value in inputs if isinstance(value, torch.Tensor) and value.dtype == torch.int64]


def _rows_of(inputs: Sequence[Any]) -> int:
    sizes = [value.shape[0] for value in _integers(inputs) if value.dim()]
    return sizes[0] if sizes and isinstance(sizes[0], int) else 0  # a dynamic size is no int


@contextlib.contextmanager
def fresh_dynamo() -> Iterator[Captured]:
    """Forget every compiled graph, before the block and after it, and record what the block captures under any backend.

    Switches that hide a break are off in the block, whatever the learner's cells have set.
    """
    import torch._dynamo as dynamo
    from torch._dynamo.utils import counters

    captured = Captured()
    dynamo.reset()
    counters.clear()
    switches: dict[str, Any] = {
        "capture_scalar_outputs": False,
        "capture_dynamic_output_shape_ops": False,
        "suppress_errors": False,
        "disable": False,
    }
    try:
        with dynamo.config.patch(switches), _recorded_backends(captured):
            yield captured
        seen = [str(reason).splitlines()[0] for reason, count in counters["graph_break"].items() for _ in range(count)]
        missed = [reason for reason in seen if reason not in captured.breaks]
        captured.breaks += missed  # a break after the last graph ends no graph
    finally:
        dynamo.reset()
        counters.clear()


@contextlib.contextmanager
def _recorded_backends(captured: Captured) -> Iterator[None]:
    """Let the named backends record, and run every graph as it is: Inductor would need a C++ compiler."""
    from torch._dynamo.backends import registry

    for name in NAMED_BACKENDS:
        registry.lookup_backend(name)  # loads it
    wrapper: Any = torch._TorchCompileInductorWrapper  # to torch.compile, a missing name means Inductor, too
    kept = {name: registry._COMPILER_FNS[name] for name in NAMED_BACKENDS}
    kept_call = wrapper.__call__
    record_inductor = captured.backend("inductor")

    def call(_: Any, graph: Any, inputs: Any, **__: Any) -> Callable[..., Any]:
        return record_inductor(graph, inputs)

    registry._COMPILER_FNS.update({name: captured.backend(name) for name in NAMED_BACKENDS})
    wrapper.__call__ = call
    try:
        yield
    finally:
        registry._COMPILER_FNS.update(kept)
        wrapper.__call__ = kept_call
