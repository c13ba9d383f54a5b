"""Traces in the format of `torch.profiler`, of small programs on a pretended CUDA device.

No GPU recorded these events. A program is a list of kernels; a simulated CPU loads a batch, launches the kernels one
after the other, and may wait for the device at the end of a step; a simulated device runs them in order on each
stream. Names, categories and units are those of the profiler's Chrome traces: `ts` and `dur` in microseconds. The
arguments `flops` and `bytes` of a kernel are not: a real trace has the shapes of the operator that launched it
(`record_shapes=True`), from which they follow.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

Event = dict[str, Any]
LOADERS = ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter")
PRODUCTS = (
    "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
    "cutlass_80_tensorop_s16816_bf16_256x128_32x3_tn_align8",
    "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTN",
    "flash_fwd_kernel_traits_128_64_bf16",
)
THIN_PRODUCTS = ("gemv2T_kernel_val_bf16", "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn")
ELEMENT_WISE = (
    "vectorized_elementwise_kernel_gelu_backward",
    "vectorized_layer_norm_kernel",
    "multi_tensor_apply_kernel_adamw",
    "elementwise_kernel_add",
)


@dataclass(frozen=True)
class Kernel:
    """A kernel as a program launches it.

    Attributes:
        name: Its name in the trace.
        flops: What it computes.
        bytes_moved: What it reads and writes in the device's memory.
        stream: The stream on which it runs.
        pause: Microseconds that the CPU spends in Python before it launches the kernel.
    """

    name: str
    flops: float
    bytes_moved: float
    stream: int
    pause: float


@dataclass(frozen=True)
class TraceCase:
    """A program and the devices that run it; times in microseconds.

    Attributes:
        kernels: Of one step, in order.
        flops_per_second: The device's rate of computing.
        bytes_per_second: The device's rate of moving bytes.
        launch: What the CPU needs for a launch.
        loads: What loading takes, for each step.
        warm_up: What the first step takes in addition, before its kernels.
        is_synchronised: Whether the CPU waits for the device at the end of each step.
        is_graph: Whether one launch starts all kernels of a step.
        seed: Seed of names, noise and the clock's start.
    """

    kernels: tuple[Kernel, ...]
    flops_per_second: float
    bytes_per_second: float
    launch: float
    loads: tuple[float, ...]
    warm_up: float
    is_synchronised: bool
    is_graph: bool
    seed: int

    def events(self) -> list[Event]:
        """Run the program and return its events, sorted by their start."""
        run = _Run(self)
        for step, load in enumerate(self.loads):
            run.step(step, load)
        return sorted(run.events, key=lambda event: float(event["ts"]))


QUEUE = 48  # kernels that a CPU may be ahead of the device; CUDA's own queue is about 1,000 long


class _Run:
    """The clocks of a CPU and of the streams of a device, and what was written down."""

    def __init__(self, case: TraceCase):
        self.case = case
        self.draw = random.Random(case.seed)
        self.clock = self.draw.uniform(1e6, 9e6)
        self.loader = f"enumerate(DataLoader)#{self.draw.choice(LOADERS)}.__next__"
        self.launcher = self.draw.choice(("cudaLaunchKernel", "cuLaunchKernelEx"))
        self.events: list[Event] = []
        self.stream_ends: dict[int, float] = {}
        self.kernel_ends: list[float] = []

    def step(self, number: int, load: float) -> None:
        """Load a batch, launch the kernels, and wait for them where the program does."""
        begin = self.clock
        self._spend("user_annotation", self.loader, load * self.draw.uniform(0.95, 1.05))
        self.clock += self.case.warm_up if number == 0 else 0.0
        if self.case.is_graph:
            self._spend("cuda_runtime", "cudaGraphLaunch", self.case.launch)
        for kernel in self.case.kernels:
            self._launch(kernel)
        if self.case.is_synchronised:
            self._spend("cuda_runtime", "cudaStreamSynchronize", max(self._device_end() - self.clock, 0.0) + 2.0)
        self._write("user_annotation", f"ProfilerStep#{number}", begin, self.clock - begin, {})

    def _launch(self, kernel: Kernel) -> None:
        if not self.case.is_graph:
            self.clock += kernel.pause
            full = self.kernel_ends[-QUEUE] if len(self.kernel_ends) >= QUEUE else 0.0
            self._spend("cuda_runtime", self.launcher, self.case.launch + max(full - self.clock, 0.0))
        begin = max(self.clock, self.stream_ends.get(kernel.stream, 0.0)) + 0.5
        seconds = max(kernel.flops / self.case.flops_per_second, kernel.bytes_moved / self.case.bytes_per_second)
        duration = 1e6 * seconds * self.draw.uniform(1.1, 1.35)
        counts = {"stream": kernel.stream, "flops": kernel.flops, "bytes": kernel.bytes_moved}
        self._write("kernel", kernel.name, begin, duration, counts)
        self.stream_ends[kernel.stream] = begin + duration
        self.kernel_ends.append(begin + duration)

    def _device_end(self) -> float:
        return max(self.stream_ends.values())

    def _spend(self, category: str, name: str, duration: float) -> None:
        self._write(category, name, self.clock, duration, {})
        self.clock += duration

    def _write(self, category: str, name: str, begin: float, duration: float, arguments: Event) -> None:
        rounded = {"ts": round(begin, 3), "dur": round(duration, 3)}
        self.events.append({"ph": "X", "cat": category, "name": name, **rounded, "args": arguments})


class _Programs:
    """Draws programs for one device, as the time that each of their kernels needs."""

    def __init__(self, draw: random.Random, flops_per_second: float, bytes_per_second: float):
        self.draw = draw
        self.rates = (flops_per_second, bytes_per_second)

    def kernel(self, names: tuple[str, ...], seconds: float, share: float, stream: int = 7, pause: float = 0) -> Kernel:
        """Make a kernel that needs `seconds`; its intensity is `share` of the device's ridge."""
        flops = self.rates[0] * seconds * min(share, 1.0)
        moved = self.rates[1] * seconds / max(share, 1.0)
        return Kernel(self.draw.choice(names), float(round(flops)), float(round(moved)), stream, pause)

    def products(self, count: int, microseconds: float, share: float = 3.0) -> list[Kernel]:
        """Make products that are bound by the device's rate of computing."""
        return [self.kernel(PRODUCTS, self.spread(microseconds), share) for _ in range(count)]

    def thin(self, count: int, microseconds: float, share: float) -> list[Kernel]:
        """Make products with few rows, which are bound by the device's rate of moving bytes."""
        return [self.kernel(THIN_PRODUCTS, self.spread(microseconds), share) for _ in range(count)]

    def element_wise(self, count: int, microseconds: float) -> list[Kernel]:
        """Make kernels that compute little."""
        return [self.kernel(ELEMENT_WISE, self.spread(microseconds), 0.01) for _ in range(count)]

    def pairs(self, count: int, microseconds: float, pause: float) -> list[Kernel]:
        """Make pairs of kernels on two streams, with Python between the pairs."""
        made = []
        for _ in range(count):
            for stream, waiting in ((7, pause), (20, 0.0)):
                made.append(self.kernel(ELEMENT_WISE, self.spread(microseconds), 0.01, stream, waiting))
        return made

    def spread(self, microseconds: float) -> float:
        """Return seconds near a number of microseconds."""
        return 1e-6 * microseconds * self.draw.uniform(0.85, 1.15)

    def mixed(self, *groups: list[Kernel]) -> tuple[Kernel, ...]:
        """Put groups of kernels into one order."""
        kernels = [kernel for group in groups for kernel in group]
        self.draw.shuffle(kernels)
        return tuple(kernels)


def trace_cases(seed: int) -> tuple[TraceCase, ...]:
    """Nine programs in a drawn order, on devices whose rates differ."""
    draw = random.Random(seed)
    scale = draw.uniform(0.7, 1.4)

    def program(flops: float, moved: float) -> _Programs:
        return _Programs(draw, flops * draw.uniform(0.95, 1.05), moved)

    def case(
        rates: tuple[float, float],
        kernels: tuple[Kernel, ...],
        loads: tuple[float, ...],
        *,
        launch: float = 5.0,
        warm_up: float = 900.0,
        waits: bool = True,
        graph: bool = False,
    ) -> TraceCase:
        return TraceCase(kernels, *rates, launch, loads, warm_up, waits, graph, draw.randrange(2**30))

    large, old, new = program(312e12, 2.039e12), program(8.7e12, 0.48e12), program(989e12, 3.35e12)
    even = (60.0,) * 5
    slow = tuple(scale * draw.uniform(4_000, 6_000) for _ in range(5))
    stalls = tuple(scale * (24_000 if step in (2, 4) else 90) for step in range(6))
    cases = [
        # Few long products among many short kernels.
        case(large.rates, large.mixed(large.products(12, 300 * scale), large.element_wise(30, 12)), even, waits=False),
        # Short kernels that a graph launches without gaps, on a device whose ridge is low.
        case(old.rates, old.mixed(old.products(60, 5.8, 2.5)), (6.0,) * 6, launch=12.0, graph=True, warm_up=60.0),
        # A first step that takes longer than all others together: workers start, kernels are chosen.
        case(
            new.rates,
            new.mixed(new.products(10, 200 * scale), new.element_wise(8, 20)),
            (40_000.0, 50.0, 50.0, 50.0, 50.0),
            warm_up=30_000.0,
        ),
        # Long element-wise kernels, with few products among them.
        case(large.rates, large.mixed(large.products(6, 40), large.element_wise(20, 160 * scale)), even),
        # Products with few rows; loading takes most of the CPU's time, while the device is busy.
        case(
            new.rates,
            new.mixed(new.thin(40, 60 * scale, 0.66), new.element_wise(6, 15)),
            tuple(2_300 * scale for _ in range(6)),
            waits=False,
            warm_up=0.0,
        ),
        # Kernels shorter than their launches.
        case(large.rates, large.mixed(large.products(40, 3.5), large.element_wise(60, 2.5)), even, launch=9 * scale),
        # Pairs on two streams: the sum of their durations is most of the time, and their union is not.
        case(old.rates, tuple(old.pairs(40, 15 * scale, 34 * scale)), even, launch=4 * scale),
        # Loading takes longer than the products.
        case(new.rates, new.mixed(new.products(10, 90 * scale), new.element_wise(8, 8)), slow),
        # Loading is fast, except for two batches.
        case(old.rates, old.mixed(old.products(12, 120), old.element_wise(30, 5)), stalls),
    ]
    draw.shuffle(cases)
    return tuple(cases)


@dataclass(frozen=True, repr=False)
class RecordedTrace:
    """A trace that the notebook shows.

    Attributes:
        events: Its events, sorted by their start.
        flops_per_second: The device's rate of computing.
        bytes_per_second: The device's rate of moving bytes.
    """

    events: list[Event]
    flops_per_second: float
    bytes_per_second: float


def recorded_traces() -> list[RecordedTrace]:
    """Return four of the traces that the check asks about, in no order."""
    cases = trace_cases(0)
    return [RecordedTrace(case.events(), case.flops_per_second, case.bytes_per_second) for case in cases[:4]]
