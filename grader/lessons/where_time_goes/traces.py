"""Traces in the format of `torch.profiler`, of small programs on a pretended CUDA device.

No GPU recorded these events. A program is a list of kernels; a simulated CPU loads a batch, launches the kernels one
after the other, and may wait for the device at the end of a step; a simulated device runs them in order on each
stream. Names, categories and units are those of the profiler's Chrome traces: `ts` and `dur` in microseconds. The
arguments `flops` and `bytes` of a kernel are not: a real trace has the shapes of the operator that launched it
(`record_shapes=True`), from which they follow.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
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
        loads: What loading takes, for each step; one more starts after the last step.
        delays: What Python takes between loading and the first launch, for each step.
        tried: Kernels that the first step launches in addition, before its own.
        is_synchronised: Whether the CPU waits for the device at the end of each step; it does after the first.
        is_graph: Whether one launch starts all kernels of a step.
        seed: Seed of names, noise and the clock's start.
    """

    kernels: tuple[Kernel, ...]
    flops_per_second: float
    bytes_per_second: float
    launch: float
    loads: tuple[float, ...]
    delays: tuple[float, ...]
    tried: tuple[Kernel, ...]
    is_synchronised: bool
    is_graph: bool
    seed: int

    def events(self) -> list[Event]:
        """Run the program and return its events, sorted by their start."""
        run = _Run(self)
        for step in range(len(self.delays)):
            run.step(step)
        for load in self.loads[len(self.delays) :]:
            run.load(load)
        return sorted(run.events, key=lambda event: float(event["ts"]))


SLOWER = (1.1, 1.35)  # how many times as long as its roofline time a kernel takes
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

    def load(self, duration: float) -> None:
        """Load a batch."""
        self._spend("user_annotation", self.loader, duration * self.draw.uniform(0.98, 1.02))

    def step(self, number: int) -> None:
        """Load a batch, launch the kernels, and wait for them where the program does."""
        begin = self.clock
        self.load(self.case.loads[number])
        self.clock += self.case.delays[number]
        if self.case.is_graph:
            self._spend("cuda_runtime", "cudaGraphLaunch", self.case.launch)
        for kernel in (*(self.case.tried if number == 0 else ()), *self.case.kernels):
            self._launch(kernel)
        if self.case.is_synchronised or number == 0:
            self._spend("cuda_runtime", "cudaStreamSynchronize", max(self._device_end() - self.clock, 0.0) + 2.0)
        self._write("user_annotation", f"ProfilerStep#{number}", begin, self.clock - begin, {})

    def _launch(self, kernel: Kernel) -> None:
        if not self.case.is_graph:
            self.clock += kernel.pause
            full = self.kernel_ends[-QUEUE] if len(self.kernel_ends) >= QUEUE else 0.0
            self._spend("cuda_runtime", self.launcher, self.case.launch + max(full - self.clock, 0.0))
        begin = max(self.clock, self.stream_ends.get(kernel.stream, 0.0)) + 0.5
        seconds = max(kernel.flops / self.case.flops_per_second, kernel.bytes_moved / self.case.bytes_per_second)
        duration = 1e6 * seconds * self.draw.uniform(*SLOWER)
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

    def needed(self, kernels: Sequence[Kernel]) -> float:
        """Return the microseconds that kernels need on average if they run one after the other."""
        seconds = (max(kernel.flops / self.rates[0], kernel.bytes_moved / self.rates[1]) for kernel in kernels)
        return 1e6 * sum(seconds) * sum(SLOWER) / 2

    def spread(self, microseconds: float) -> float:
        """Return seconds near a number of microseconds."""
        return 1e-6 * microseconds * self.draw.uniform(0.85, 1.15)

    def mixed(self, *groups: list[Kernel]) -> tuple[Kernel, ...]:
        """Put groups of kernels into one order."""
        kernels = [kernel for group in groups for kernel in group]
        self.draw.shuffle(kernels)
        return tuple(kernels)


def trace_cases(seed: int) -> tuple[TraceCase, ...]:
    """Twelve programs in a drawn order, on devices whose rates differ."""
    draw = random.Random(seed)
    scale = draw.uniform(0.7, 1.4)

    def program(flops: float, moved: float) -> _Programs:
        return _Programs(draw, flops * draw.uniform(0.95, 1.05), moved)

    def case(
        program: _Programs,
        kernels: Sequence[Kernel],
        loads: tuple[float, ...] = (60.0,) * 5,
        delays: tuple[float, ...] = (900.0, 0.0, 0.0, 0.0, 0.0),
        *,
        launch: float = 5.0,
        waits: bool = True,
        graph: bool = False,
        tried: Sequence[Kernel] = (),
    ) -> TraceCase:
        seed = draw.randrange(2**30)
        return TraceCase(tuple(kernels), *program.rates, launch, loads, delays, tuple(tried), waits, graph, seed)

    large, old, new = program(312e12, 2.039e12), program(8.7e12, 0.48e12), program(989e12, 3.35e12)
    above = large.mixed(large.products(12, 300 * scale, 1.45), large.element_wise(30, 12))
    slow_start = new.mixed(new.products(10, 200 * scale), new.element_wise(8, 20))
    tiny = large.mixed(large.products(40, 3.5), large.element_wise(60, 2.5))
    gaps = 900 * scale - large.needed(tiny)
    late = new.mixed(new.products(10, 90 * scale), new.element_wise(8, 8))
    period = new.needed(late)
    stalled = old.mixed(old.products(12, 120), old.element_wise(30, 5))
    wide = large.kernel(ELEMENT_WISE, large.spread(1_500 * scale), 0.01, stream=20)
    covering = large.needed([wide])
    narrow = old.element_wise(30, 2)
    hiding = (
        0.64 * 30 * 12 - old.needed(narrow)
    ) / 0.456  # loaded as below, the device is busy for 64 % of later steps
    tail = old.kernel(PRODUCTS, 2e-6 * hiding / sum(SLOWER), 3.0)
    cases = [
        # Few long products, a little above the ridge, among many short kernels. The first batch after the warm-up
        # takes a quarter of the time; then the CPU runs ahead, and ends long before the device.
        case(large, above, (60.0, large.needed(above), 60.0, 60.0), (900.0, 0.0, 0.0, 0.0), waits=False),
        # Short kernels that a graph launches without gaps, on a device whose ridge is low.
        case(old, old.mixed(old.products(60, 5.8, 2.5)), (6.0,) * 5, (60.0, *(0.0,) * 4), launch=12.0, graph=True),
        # A first step that takes longer than all others together, and a long load after the last one: workers start.
        case(
            new,
            slow_start,
            (40_000.0, *(0.28 * new.needed(slow_start),) * 4, 40_000.0),
            (30_000.0, 0.0, 0.0, 0.0, 0.0),
        ),
        # The longest kernels are products, but the sums are bound by memory.
        case(large, large.mixed(large.products(8, 240 * scale, 2), large.element_wise(20, 72 * scale)), waits=False),
        # Products with few rows, after others that the first step tries; most loading is hidden by a busy device.
        case(
            new,
            new.mixed(new.thin(40, 60 * scale, 0.66), new.element_wise(6, 15)),
            (2_300 * scale,) * 6,
            (0.0,) * 6,
            waits=False,
            tried=new.products(90, 240 * scale),
        ),
        # Kernels shorter than their launches. Loading takes 40 % of the idle time; its gaps take 65 %.
        case(large, tiny, (60.0, *(1.14 * gaps,) * 4), (900.0, *(0.71 * gaps,) * 4), launch=9 * scale),
        # Pairs on two streams: the sum of their durations is most of the time, and their union is not.
        case(old, old.pairs(40, 15 * scale, 34 * scale), launch=4 * scale),
        # Loading starts while the device works, and goes on for 62 % of the idle time.
        case(
            new,
            late,
            (60.0, 0.1 * period, *(1.43 * period - 76,) * 3),
            (900.0, 0.06 * period, *(0.265 * period,) * 3),
            waits=False,
        ),
        # Loading takes longer than the products, also after the last step.
        case(new, late, (60.0, *(scale * draw.uniform(4_000, 6_000) for _ in range(4)), 90_000.0)),
        # Loading is fast, except for the first batch after the warm-up.
        case(old, stalled, (90.0, 2.9 * old.needed(stalled), *(90.0,) * 4), (900.0, *(0.0,) * 5)),
        # A long kernel on one stream, and short ones that start and end while it runs on another.
        case(large, [wide, *large.products(10, 20)], (60.0, *(0.15 * covering,) * 2), (900.0, *(0.16 * covering,) * 2)),
        # Kernels shorter than their launches, and a long one behind which the loading is hidden.
        case(
            old,
            [*narrow, tail],
            (60.0, 0.66 * (0.85 * hiding + 372), 0.85 * hiding, 0.85 * hiding),
            (900.0, 0.0, 0.0, 0.0),
            launch=12.0,
            waits=False,
        ),
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
    shown = (cases[index] for index in (10, 1, 11, 0))
    return [RecordedTrace(case.events(), case.flops_per_second, case.bytes_per_second) for case in shown]
