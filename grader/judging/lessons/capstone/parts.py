"""Judges peaks that are composed of parts, and fronts."""

from __future__ import annotations

from typing import Any

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.capstone.parts import Points, RunCase, point_cases, run_cases, run_front, run_peak
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

TOLERANCE = 1e-6


def peak_of_run(parts: Any, rows: int, micro_batches: int, is_checkpointed: bool) -> int:
    """Return the most bytes that are held at once: the highest of the moments of a step."""
    always = parts.weights + parts.state
    waiting = parts.gradients if micro_batches > 1 else 0
    forward = always + waiting + parts.copies
    if is_checkpointed:
        forward += rows * (parts.inputs + parts.layer_forward)
        last_layer = always + waiting + rows * (parts.inputs + parts.layer_backward)
        first_layer = always + parts.gradients + rows * parts.layer_backward
    else:
        forward += rows * parts.kept
        last_layer = first_layer = always + parts.gradients
    update = always + parts.gradients + parts.update
    return int(max(forward, last_layer, first_layer, update))


def judge_composed_peak(observation: Observation, seed: int) -> Verdict:
    """Compare the peak of each run."""
    answer = PEAKS.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"the peaks of {len(answer.values)} runs")
    case: RunCase = answer.case
    checkpointed = "checkpointed" if case.is_checkpointed else "not checkpointed"
    run = f"{case.micro_batches} micro-batches of {case.rows} rows, {checkpointed}"
    return PEAKS.explain(
        answer,
        expected=f"{format_bytes(answer.truth)} ({run})",
        measured=format_bytes(answer.value),
        otherwise="Write down what is held at the end of the forward pass, at the last and the first layer of the "
        "backward pass, and in the update, and take the largest sum.",
    )


def is_near(answer: Any, value: Any) -> bool:
    """Return whether two byte counts agree to rounding."""
    return bool(abs(answer - value) <= TOLERANCE * abs(value))


ALWAYS = "always = parts.weights + parts.state"
WAITING = "waiting = parts.gradients if micro_batches > 1 else 0"
FORWARD = "forward = always + waiting + parts.copies"
CHECKPOINTED = "forward += rows * (parts.inputs + parts.layer_forward)"
LAST = "last_layer = always + waiting + rows * (parts.inputs + parts.layer_backward)"
FIRST = "first_layer = always + parts.gradients + rows * parts.layer_backward"
KEPT = "forward += rows * parts.kept"
NO_LAYER = "last_layer = first_layer = always + parts.gradients"
UPDATE = "update = always + parts.gradients + parts.update"
HIGHEST = "return int(max(forward, last_layer, first_layer, update))"

PEAKS = ReferenceTable(
    peak_of_run,
    Misconception(
        "parts_all_added",
        "You add up parts that are never held together. Activations are gone when the update begins, and in a single "
        "micro-batch the gradients do not exist yet when the forward pass ends. A peak is the highest moment.",
        {WAITING: "waiting = parts.gradients + parts.update"},
        variants=[
            {WAITING: "waiting = parts.gradients + parts.update", LAST: "last_layer = 0"},
            {
                WAITING: "waiting = parts.gradients + parts.update",
                CHECKPOINTED: "forward += rows * (parts.inputs + parts.layer_forward + parts.layer_backward)",
            },
            {
                WAITING: "waiting = parts.gradients + parts.update",
                CHECKPOINTED: "forward += rows * (parts.inputs + parts.layer_backward)",
            },
        ],
    ),
    Misconception(
        "gradients_always_waiting",
        "You add the gradients to the activations of a single micro-batch. They do not exist yet when its forward "
        "pass ends; only those of an earlier micro-batch wait.",
        {WAITING: "waiting = parts.gradients"},
    ),
    Misconception(
        "gradients_never_waiting",
        "You leave out the gradients of earlier micro-batches, which are held while the next one runs.",
        {WAITING: "waiting = 0"},
    ),
    Misconception(
        "gradients_of_each_micro_batch",
        "You count gradients once for each micro-batch. They are added up in one place.",
        {WAITING: "waiting = parts.gradients * (micro_batches - 1)"},
        variants=[
            {WAITING: "waiting = parts.gradients * micro_batches"},
            {
                FIRST: FIRST + " + waiting",
                NO_LAYER: NO_LAYER + " + waiting",
                UPDATE: UPDATE + " + waiting",
            },
        ],
    ),
    Misconception(
        "rows_of_all_micro_batches",
        "You hold the rows of all micro-batches at once. One of them runs at a time.",
        {ALWAYS: "always, rows = parts.weights + parts.state, rows * micro_batches"},
    ),
    Misconception(
        "rows_divided",
        "You divide `rows` by the number of micro-batches. It is already the size of one.",
        {ALWAYS: "always, rows = parts.weights + parts.state, rows / micro_batches"},
        variants=[
            {ALWAYS: "always, rows = parts.weights + parts.state, rows // micro_batches"},
            {KEPT: "forward += rows // micro_batches * parts.kept"},
        ],
    ),
    Misconception(
        "rows_ignored",
        "You take the parts of one row. Multiply those that are given for each row.",
        {ALWAYS: "always, rows = parts.weights + parts.state, 1"},
    ),
    Misconception(
        "update_forgotten",
        "You leave out the update. Where activations are small, the highest moment is there.",
        {HIGHEST: "return int(max(forward, last_layer, first_layer))", NO_LAYER: "last_layer = first_layer = 0"},
    ),
    Misconception(
        "temporaries_forgotten",
        "You leave out what the update allocates for a while, in addition to gradients and state.",
        {UPDATE: "update = always + parts.gradients"},
    ),
    Misconception(
        "copies_forgotten",
        "You leave out autocast's 16-bit copies of the weights. The forward pass makes them and keeps them.",
        {FORWARD: "forward = always + waiting"},
    ),
    Misconception(
        "copies_always_held",
        "You hold the 16-bit copies all the time. They are freed with the forward pass's tensors, at the latest when "
        "the backward pass is over.",
        {ALWAYS: "always = parts.weights + parts.state + parts.copies", FORWARD: "forward = always + waiting"},
        variants=[{LAST: LAST + " + parts.copies"}, {UPDATE: UPDATE + " + parts.copies"}],
    ),
    Misconception(
        "copies_replace_weights",
        "You let the 16-bit copies take the place of the weights. Autocast keeps both.",
        {FORWARD: "forward = always + waiting + parts.copies - (parts.weights if parts.copies else 0)"},
    ),
    Misconception(
        "checkpointing_ignored",
        "You keep all activations of a checkpointed run. Its forward pass keeps the layers' inputs.",
        {CHECKPOINTED: KEPT},
    ),
    Misconception(
        "kept_and_inputs_added",
        "You add the layers' inputs to the kept tensors of a run without checkpoints, which contain them.",
        {KEPT: "forward += rows * (parts.kept + parts.inputs)"},
    ),
    Misconception(
        "layer_run_again_forgotten",
        "You leave out the layer that runs again in the backward pass of a checkpointed run, with its gradients.",
        {LAST: "last_layer = always + waiting", FIRST: "first_layer = always + parts.gradients"},
        variants=[
            {
                CHECKPOINTED: "forward += rows * parts.inputs",
                LAST: "last_layer = always + waiting",
                FIRST: "first_layer = always + parts.gradients",
            },
            {
                CHECKPOINTED: "forward += rows * parts.inputs",
                LAST: "last_layer = always + waiting + rows * (parts.inputs + parts.layer_forward)",
                FIRST: "first_layer = always + parts.gradients + rows * parts.layer_forward",
            },
        ],
    ),
    Misconception(
        "inputs_forgotten",
        "You leave out the layers' inputs, which a checkpointed run keeps until each layer has run again.",
        {
            CHECKPOINTED: "forward += rows * parts.layer_forward",
            LAST: "last_layer = always + waiting + rows * parts.layer_backward",
        },
    ),
    Misconception(
        "last_layer_forgotten",
        "You leave out the moment when the last layer runs again: the inputs of all layers are still there, and what "
        "the layer adds comes on top of them.",
        {LAST: "last_layer = 0"},
        variants=[{LAST: "last_layer = always + waiting + rows * parts.layer_backward"}],
    ),
    Misconception(
        "forward_pass_forgotten",
        "You leave out the end of a checkpointed forward pass, when autocast's copies are held next to the inputs.",
        {CHECKPOINTED: "forward = 0"},
    ),
    Misconception(
        "running_layer_of_the_forward_pass_forgotten",
        "You leave out the layer that is running at the end of a checkpointed forward pass.",
        {CHECKPOINTED: "forward += rows * parts.inputs"},
    ),
    Misconception(
        "all_gradients_at_the_last_layer",
        "You hold all gradients and all inputs in one moment. When the backward pass begins, the gradients of this "
        "micro-batch do not exist yet; when they are complete, the inputs are gone.",
        {LAST: "last_layer = always + parts.gradients + rows * (parts.inputs + parts.layer_backward)"},
    ),
    Misconception(
        "first_layer_forgotten",
        "You look at the beginning of the backward pass only. At its end, the first layer runs again when the "
        "gradients of all the others exist.",
        {FIRST: "first_layer = always + parts.gradients"},
    ),
    Misconception(
        "state_forgotten",
        "You leave out the optimizer state, which is held all the time.",
        {ALWAYS: "always = parts.weights"},
        variants=[{ALWAYS: "always = parts.weights", UPDATE: UPDATE + " + parts.state"}],
    ),
    Misconception(
        "weights_forgotten",
        "You leave out the weights, which are held all the time.",
        {ALWAYS: "always = parts.state"},
    ),
    Misconception(
        "mebibytes_for_bytes",
        "You return mebibytes. The parts are in bytes, and so is the peak.",
        {HIGHEST: "return max(forward, last_layer, first_layer, update) / 2**20"},
    ),
    Misconception(
        "smallest_moment",
        "You return the lowest moment. The peak is the highest one.",
        {HIGHEST: "return int(min(forward, last_layer, first_layer, update))"},
    ),
    hard_coded(lambda seed: (run_cases(seed)[0],) * len(run_cases(seed))),
    run=run_peak,
    cases=run_cases,
    is_near=is_near,
)


def front(points: Points) -> set[str]:
    """Return the points that no other one beats: as good in both numbers, and better in one."""
    names = set()
    for name, (size, seconds) in points.items():
        beaten = any(
            other_size <= size and other_seconds <= seconds and (other_size < size or other_seconds < seconds)
            for other_size, other_seconds in points.values()
        )
        if not beaten:
            names.add(name)
    return names


def judge_front(observation: Observation, seed: int) -> Verdict:
    """Compare the front of each set of points."""
    answer = FRONTS.answer(seed, [set(names) for names in observation.facts["answers"]])
    if answer.is_right:
        return Verdict(PASSED, "", f"the fronts of {len(answer.values)} sets of points")
    points = answer.case
    return FRONTS.explain(
        answer,
        expected=f"{_listed(answer.truth, points)} out of {len(points)} points",
        measured=_listed(answer.value, points),
        otherwise="Take one point that differs, and look for another one that is as good in both numbers and better "
        "in one.",
    )


def _listed(names: set[str], points: Points) -> str:
    known = sorted(points[name] for name in names if name in points)
    listed = [f"({size:g} B, {seconds:g} s)" for size, seconds in known]
    unknown = ["names that are not in points"] if names - set(points) else []
    return ", ".join(listed + unknown) or "no point"


BEATEN = """other_size <= size and other_seconds <= seconds and (other_size < size or other_seconds < seconds)
            for other_size, other_seconds in points.values()"""
CONDITION = BEATEN.splitlines()[0]
OTHER = "(other_size, other_seconds) != (size, seconds)"

FRONTS = ReferenceTable(
    front,
    Misconception(
        "better_in_both_demanded",
        "You let a point be beaten only where another one is better in both numbers. One that is as good in one "
        "number and better in the other beats it, too.",
        {CONDITION: "other_size < size and other_seconds < seconds"},
    ),
    Misconception(
        "equal_points_beat_each_other",
        "You let equal points beat each other, so both are lost. A point is beaten by one that is better in at least "
        "one number.",
        {
            BEATEN: "others != name and o[0] <= size and o[1] <= seconds for others, o in points.items()",
        },
    ),
    Misconception(
        "one_of_equal_points_lost",
        "You keep one of two equal points. Neither is beaten by the other.",
        {
            "names.add(name)": "names -= {other for other in names if points[other] == (size, seconds)}\n"
            "            names.add(name)",
        },
        variants=[
            {
                "if not beaten:": "if not beaten and all(points[other] != (size, seconds) for other in names):",
            }
        ],
    ),
    Misconception(
        "beaten_by_itself",
        "You let every point be beaten by itself, so no front is left.",
        {CONDITION: "other_size <= size and other_seconds <= seconds"},
    ),
    Misconception(
        "beaten_in_one_number",
        "You drop every point that another one beats in one number. A point may be larger if it is faster.",
        {CONDITION: "other_size < size or other_seconds < seconds"},
    ),
    Misconception(
        "leanest_only",
        "You return the leanest points only. A front has everything between the leanest and the fastest.",
        {CONDITION: "other_size < size"},
    ),
    Misconception(
        "fastest_only",
        "You return the fastest points only. A front has everything between the leanest and the fastest.",
        {CONDITION: "other_seconds < seconds"},
    ),
    Misconception(
        "both_ends_only",
        "You return the leanest and the fastest point. What lies between them and is beaten by nothing belongs to "
        "the front, too.",
        {
            "if not beaten:": "ends = [min(points.values()), min(points.values(), key=lambda point: point[::-1])]\n"
            "        if (size, seconds) in ends:",
        },
    ),
    Misconception(
        "convex_hull",
        "You drop points that lie above the line between two others. A mixture of two runs does not exist, so such a "
        "point is beaten by nothing.",
        {
            "if not beaten:": """above = any(
            left[0] < size < right[0]
            and seconds > left[1] + (right[1] - left[1]) * (size - left[0]) / (right[0] - left[0])
            for left in points.values()
            for right in points.values()
        )
        if not beaten and not above:"""
        },
    ),
    Misconception(
        "most_is_best",
        "You look for many bytes, or many seconds. Less is better in both.",
        {CONDITION: f"other_size >= size and other_seconds >= seconds and {OTHER}"},
        variants=[
            {CONDITION: f"other_size <= size and other_seconds >= seconds and {OTHER}"},
            {CONDITION: f"other_size >= size and other_seconds <= seconds and {OTHER}"},
        ],
    ),
    Misconception(
        "nothing_beaten",
        "You return every point. A point that is beaten does not belong to the front.",
        {"if not beaten:": "if True:"},
    ),
    Misconception(
        "next_point_only",
        "You compare a point with the one before it in the order of bytes. One that is much leaner may beat it, too.",
        {
            "if not beaten:": "before = [point for point in points.values() if point < (size, seconds)]\n"
            "        if not before or seconds < max(before)[1]:",
        },
    ),
    Misconception(
        "as_fast_and_larger_kept",
        "You keep a point that is as fast as another one and needs more bytes. It is beaten in one number and better "
        "in none.",
        {CONDITION: "other_size <= size and other_seconds < seconds"},
    ),
    Misconception(
        "smallest_product",
        "You weigh bytes against seconds by their product. A front weighs nothing: it keeps every point that no other "
        "one beats.",
        {"if not beaten:": "if size * seconds == min(a * b for a, b in points.values()):"},
    ),
    Misconception(
        "the_beaten_returned",
        "You return the points that are beaten. The front has the others.",
        {"if not beaten:": "if beaten:"},
    ),
    hard_coded(lambda seed: (point_cases(seed)[0],) * len(point_cases(seed))),
    run=run_front,
    cases=point_cases,
    is_near=lambda answer, value: answer == value,
)
