"""Judges the roofline times of the kernels of a layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.where_time_goes.kernels import KERNELS, LayerCase, layer_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

KernelTimes = Callable[..., dict[str, list[Any]]]


def kernel_times(
    rows: int, inner: int, columns: int, number_bytes: int, flops_per_second: float, bytes_per_second: float
) -> dict[str, list[Any]]:
    """Return the seconds of each kernel, and the side that bounds it."""
    outputs = rows * columns
    weights = inner * columns
    work = {
        "product": (2 * rows * inner * columns, rows * inner + weights + outputs),
        "activation": (10 * outputs, 2 * outputs),
        "activation_backward": (10 * outputs, 3 * outputs),
        "update": (15 * weights, 7 * weights),
    }
    times = {}
    for name, (flops, numbers) in work.items():
        computing = flops / flops_per_second
        moving = numbers * number_bytes / bytes_per_second
        seconds = max(computing, moving)
        side = "compute" if computing > moving else "memory"
        times[name] = [seconds, side]
    return times


def judge_kernel_times(observation: Observation, seed: int) -> Verdict:
    """Compare all kernels; report the first that differs."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    for name in KERNELS:
        part = answer.part(name)
        if part.is_right:
            continue
        case: LayerCase = part.case
        place = f"{case.rows} rows, {case.inner} to {case.columns} features, {case.number_bytes} bytes a number"
        ridge = case.flops_per_second / case.bytes_per_second
        expected = f"{name}: {_say(part.truth)} ({place}; ridge {ridge:.3g} FLOPs per byte)"
        otherwise = f"You differ in `{name}`. Print its FLOPs, its bytes and both times, and do not round."
        measured = f"{_say(part.value)}; {part.value[0] / part.truth[0]:.6g} times the seconds"
        return TABLE.explain(answer, part, expected=expected, measured=measured, otherwise=otherwise)
    return Verdict(PASSED, "", f"{len(KERNELS)} kernels right in {len(answer.values)} layers")


def _say(pair: list[Any]) -> str:
    return f"{pair[0] * 1e6:.4g} µs, bound by {pair[1]}"


def _run(kernel_times: KernelTimes, case: LayerCase) -> dict[str, list[Any]]:
    return kernel_times(*case.arguments)


SECONDS = "max(computing, moving)"
SIDE = '"compute" if computing > moving else "memory"'
MOVING = "numbers * number_bytes / bytes_per_second"
FORWARD = "(10 * outputs, 2 * outputs)"
BACKWARD = "(10 * outputs, 3 * outputs)"
UPDATE = "(15 * weights, 7 * weights)"
PRODUCT = "rows * inner + weights + outputs"

TABLE = ReferenceTable(
    kernel_times,
    Misconception(
        "everything_compute_bound",
        "You divide FLOPs by the rate, and leave out the bytes. Take the longer of the two times.",
        {SECONDS: "computing", SIDE: '"compute"'},
        variants=[{SECONDS: "computing"}],
    ),
    Misconception(
        "everything_memory_bound",
        "You divide bytes by the bandwidth, and leave out the FLOPs. Take the longer of the two times.",
        {SECONDS: "moving", SIDE: '"memory"'},
        variants=[{SECONDS: "moving"}],
    ),
    Misconception(
        "both_times_added",
        "You add the two times. A kernel computes while it reads and writes, so the longer of the two remains.",
        {SECONDS: "computing + moving"},
    ),
    Misconception(
        "shorter_time_taken",
        "You take the shorter time. The kernel ends when both its computing and its moving have ended.",
        {SECONDS: "min(computing, moving)"},
    ),
    Misconception(
        "sides_swapped",
        "You name the side that has time to spare. The longer of the two times bounds the kernel.",
        {SIDE: '"memory" if computing > moving else "compute"'},
    ),
    Misconception(
        "side_by_the_kind_of_kernel",
        "You name the side by the kind of kernel: products compute, the others move. With few rows, or on another "
        "device, it is the other way round. Compare the two times.",
        {SIDE: '"compute" if name == "product" else "memory"'},
    ),
    Misconception(
        "side_by_another_ridge",
        "You decide the side by another test than the seconds. FLOPs per *byte* above (FLOP/s) / (bytes/s) mean "
        "compute bound.",
        {SIDE: '"compute" if flops / numbers > flops_per_second / bytes_per_second else "memory"'},
        variants=[
            {SIDE: '"compute" if flops / numbers / number_bytes > bytes_per_second / flops_per_second else "memory"'}
        ],
    ),
    Misconception(
        "other_unit_returned",
        "You return another unit. FLOPs / (FLOP/s) and bytes / (bytes/s) are seconds already.",
        {SECONDS: f"{SECONDS} * 1e6"},
        variants=[{SECONDS: f"{SECONDS} * 1e3"}],
    ),
    Misconception(
        "numbers_for_bytes",
        "You do not divide bytes by the bandwidth, but numbers, bits, or a fixed number of bytes for each number. "
        "Multiply the numbers by `number_bytes`.",
        {MOVING: "numbers / bytes_per_second"},
        variants=[{MOVING: f"numbers * {size} / bytes_per_second"} for size in (2, 4, "number_bytes * 8")],
    ),
    Misconception(
        "writes_forgotten",
        "You count what a kernel reads. What it writes goes through the same memory.",
        {
            FORWARD: "(10 * outputs, outputs)",
            BACKWARD: "(10 * outputs, 2 * outputs)",
            UPDATE: "(15 * weights, 4 * weights)",
        },
        variants=[{FORWARD: "(10 * outputs, outputs)"}, {UPDATE: "(15 * weights, 4 * weights)"}],
    ),
    Misconception(
        "tensors_of_the_backward_miscounted",
        "You move another number of tensors in the activation's backward pass. It reads the gradient that arrives and "
        "the saved input, and writes one gradient.",
        {BACKWARD: "(10 * outputs, 2 * outputs)"},
        variants=[{BACKWARD: "(10 * outputs, 4 * outputs)"}, {BACKWARD: "(20 * outputs, 4 * outputs)"}],
    ),
    Misconception(
        "flops_not_of_the_table",
        "You count other FLOPs than the table: 10 for each number of the activation or its gradient, and 15 for each "
        "weight.",
        {UPDATE: "(10 * weights, 7 * weights)"},
        variants=[
            *({UPDATE: f"({flops} * weights, 7 * weights)"} for flops in (30, 45, 105)),
            *({BACKWARD: f"({flops} * outputs, 3 * outputs)"} for flops in (8, 20, 30)),
            *({FORWARD: f"({flops} * outputs, 2 * outputs)"} for flops in (1, 8, 20)),
        ],
    ),
    Misconception(
        "activation_of_the_inputs",
        "You let the activation work on the layer's input. It follows the product, so its tensors have rows x columns.",
        {
            FORWARD: "(10 * rows * inner, 2 * rows * inner)",
            BACKWARD: "(10 * rows * inner, 3 * rows * inner)",
        },
        variants=[{FORWARD: "(10 * outputs, rows * inner + outputs)"}],
    ),
    Misconception(
        "tensors_of_an_update_miscounted",
        "You move another number of tensors in the update. AdamW reads the weight, its gradient and two moments, and "
        "writes the weight and both moments, each with `number_bytes` bytes a number.",
        {UPDATE: "(15 * weights, 3 * weights)"},
        variants=[
            {UPDATE: f"(15 * weights, {count} * weights)"} for count in (2, 5, 6, 8, 9, "(3 + 16 / number_bytes)")
        ],
    ),
    Misconception(
        "visible_case_hard_coded",
        "You use the shapes or the rates of the layer in the notebook. Use what your function receives.",
        {"outputs = rows * columns": "rows, inner, columns, outputs = 4096, 1024, 4096, 4096 * 4096"},
        variants=[
            {
                "flops / flops_per_second": "flops / 312e12",
                MOVING: "numbers * number_bytes / 2.039e12",
            }
        ],
    ),
    Misconception(
        "product_changed",
        "You return something else for the product, although its FLOPs and its numbers are given. Use them as they "
        "are, without a bias, take the longer of the two times, and do not round.",
        shown_by=lambda answer: answer.key == "product",
    ),
    Misconception(
        "other_bytes_moved",
        "You move other bytes in `{key}` than its tensors have. Write down the shape of each tensor that it reads, and "
        "of each that it writes: those of an activation have rows x columns, those of an update are like the weight.",
        shown_by=lambda answer: answer.key is not None and answer.value[1] == answer.truth[1] == "memory",
    ),
    run=_run,
    cases=layer_cases,
    is_near=within(relative=1e-6),
)
