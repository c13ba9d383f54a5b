"""The result of a peak memory measurement, and how a learner reads it."""

from __future__ import annotations

from dataclasses import dataclass

from grader.units import format_bytes

KINDS = ("parameter", "gradient", "optimizer_state", "activation", "other")
_LABELS = ("parameters", "gradients", "optimizer state", "activations", "other")

HeldByKind = tuple[int, int, int, int, int]

_NOT_FORECAST = "  not forecast: CUDA context, cuBLAS workspace, allocator reserve and fragmentation"
_CAVEATS = {
    "cpu": ("  equals the measurement on the CPU; another device runs other operators",),
    "cuda (emulated)": ("  CUDA's operators are emulated until a run on a device confirms them", _NOT_FORECAST),
}


@dataclass(frozen=True, slots=True)
class MemorySample:
    """The bytes held right after one change, by kind.

    Attributes:
        parameter_bytes: Storages of the model's parameters.
        gradient_bytes: Storages that are a parameter's `.grad`.
        optimizer_state_bytes: Storages in the optimizer's state.
        activation_bytes: Storages first allocated in forward, also when forward is recomputed.
        other_bytes: Inputs, buffers, and what backward and the optimizer hold for a while.
        phase: "forward", "backward" or "optimizer".
        operator: The operator that ran last, for example "aten.mm.default"; "entry" for the first sample.
    """

    parameter_bytes: int
    gradient_bytes: int
    optimizer_state_bytes: int
    activation_bytes: int
    other_bytes: int
    phase: str
    operator: str

    @property
    def held_bytes(self) -> int:
        """Return the sum of the five kinds."""
        return sum(getattr(self, f"{kind}_bytes") for kind in KINDS)


@dataclass(frozen=True, repr=False)
class PeakMemory:
    """The most memory that one call holds at once. The five kinds sum to `peak_bytes`.

    Attributes:
        peak_bytes: Every byte held at the peak.
        above_entry_bytes: `peak_bytes` less what was held when the call began.
        parameter_bytes: At the peak, storages of the model's parameters.
        gradient_bytes: At the peak, storages that are a parameter's `.grad`.
        optimizer_state_bytes: At the peak, storages in the optimizer's state.
        activation_bytes: At the peak, storages first allocated in forward, also when forward is recomputed.
        other_bytes: At the peak, inputs, buffers, and what backward and the optimizer hold for a while.
        timeline: One sample at entry and one after each change of the bytes held.
        device: The device by name, for example "CPU".
        operators: "measured", or for a forecast whose operators ran: "cpu" or "cuda (emulated)".
        torch_version: The version of PyTorch that ran.
    """

    peak_bytes: int
    above_entry_bytes: int
    parameter_bytes: int
    gradient_bytes: int
    optimizer_state_bytes: int
    activation_bytes: int
    other_bytes: int
    timeline: tuple[MemorySample, ...]
    device: str
    operators: str
    torch_version: str

    @property
    def entry_bytes(self) -> int:
        """Return the bytes held when the measured call began."""
        return self.peak_bytes - self.above_entry_bytes

    @property
    def peak_sample(self) -> MemorySample | None:
        """Return the first sample of the timeline at its highest point; None where no timeline was kept."""
        return max(self.timeline, key=lambda sample: sample.held_bytes, default=None)

    def __repr__(self) -> str:
        sample = self.peak_sample
        place = f" in {sample.phase}" if sample else ""
        peak, above_entry = format_bytes(self.peak_bytes), format_bytes(self.above_entry_bytes)
        rows = [
            f"  {label:<17}{format_bytes(getattr(self, f'{kind}_bytes')):>14}"
            for kind, label in zip(KINDS, _LABELS, strict=True)
        ]
        return "\n".join(
            [
                f"Peak memory {peak}{place}, {above_entry} above entry",
                *rows,
                f"  {self._origin()}, torch {self.torch_version}; 1 MiB = 2**20 bytes",
                *_CAVEATS.get(self.operators, ()),
            ]
        )

    def _origin(self) -> str:
        if self.operators == "measured":
            return f"measured on {self.device}"
        return f"forecast with {self.operators} operators"
