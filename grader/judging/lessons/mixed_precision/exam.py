"""Judges the exam on mixed precision."""

from __future__ import annotations

from grader.judging.edited_source import Part
from grader.judging.misconceptions import Misconception
from grader.judging.variants import FamilyJudge, variant_judges, when
from grader.lessons.mixed_precision.exam import TOPIC, BytesCase, ScalesCase, bytes_cases, scales_cases
from grader.variants import Options


def scales_of_run(start: float, interval: int, overflows: list[bool], options: Options) -> list[float]:
    """Scale of each update."""
    scale, good, bad = start, 0, 0
    scales = []
    for is_bad in overflows:
        scales.append(scale)
        if is_bad:
            bad += 1
            if options["counted"] == "in a row":
                good = 0
            if bad == options["patience"]:
                scale = max(scale * options["backoff"], options["floor"])
                good = bad = 0
            continue
        bad = 0
        good += 1
        if good == interval:
            scale *= options["factor"]
            good = 0
    return scales


def training_bytes(trained: int, frozen: int, options: Options) -> int:
    """Bytes that a run keeps: weights, gradients and what the optimizer has."""
    weights = 2 * (trained + frozen)
    master = (4 if options["master"] == "float32" else 2) * trained
    gradients = (2 if options["gradients"] == "bfloat16" else 4) * trained
    moments = (4 + (4 if options["second"] == "float32" else 2)) * trained
    return weights + master + gradients + moments


def _run_scales(scales: Part, case: ScalesCase, options: Options) -> list[float]:
    return list(scales(case.start, case.interval, list(case.overflows), options))


def _run_bytes(total: Part, case: BytesCase, options: Options) -> int:
    value: int = total(case.trained, case.frozen, options)
    return value


APPEND = "        scales.append(scale)\n"
LEAST = 'max(scale * options["backoff"], options["floor"])'
ROW = '            if options["counted"] == "in a row":\n                good = 0\n'
AFTER = "                good = bad = 0"
SCALES = FamilyJudge(
    scales_of_run,
    (
        Misconception(
            "scale_after_the_update",
            "You return the scale after each update. The update itself uses the scale from before.",
            {APPEND: "", "            continue\n": "            scales.append(scale)\n            continue\n"}
            | {"    return scales": "        scales.append(scale)\n    return scales"},
        ),
        when(
            Misconception(
                "factors_of_the_lesson",
                "You double and halve, as GradScaler does by default. The contract names other factors.",
                {'options["factor"]': "2", LEAST: 'max(scale / 2, options["floor"])'},
            ),
            backoff=0.25,
        ),
        Misconception(
            "growth_of_the_lesson",
            "You double the scale. The contract names another factor for its growth.",
            {'options["factor"]': "2"},
        ),
        when(
            Misconception(
                "backoff_of_the_lesson",
                "You halve the scale after an overflow. The contract names another factor.",
                {LEAST: 'max(scale / 2, options["floor"])'},
            ),
            backoff=0.25,
        ),
        Misconception(
            "no_floor",
            "You let the scale fall below its least value. Look at a run with many overflows.",
            {LEAST: 'scale * options["backoff"]'},
        ),
        Misconception(
            "left_alone_at_the_floor",
            "You leave the scale where it is if the next one would be below the least. It falls to the least.",
            {LEAST: 'scale * options["backoff"] if scale * options["backoff"] >= options["floor"] else scale'},
        ),
        when(
            Misconception(
                "patience_ignored",
                "You lower the scale at the first overflow. Wait until there are two in a row.",
                {'bad == options["patience"]': "True"},
            ),
            patience=2,
        ),
        when(
            Misconception(
                "overflows_added_up",
                "You count overflows with good updates between them. Only overflows in a row count.",
                {"        bad = 0\n        good += 1": "        good += 1"},
            ),
            patience=2,
        ),
        when(
            Misconception(
                "lowered_at_each_overflow_after_the_second",
                "You lower the scale at the third overflow in a row, too. After a change the count starts again.",
                {'bad == options["patience"]': 'bad >= options["patience"]', AFTER: "                good = 0"},
            ),
            patience=2,
        ),
        when(
            Misconception(
                "good_updates_in_a_row",
                "You start the count of good updates again at an overflow that changes nothing. The contract counts "
                "those since the last change.",
                {'if options["counted"] == "in a row"': "if True"},
            ),
            patience=2,
            counted="since the last change",
        ),
        when(
            Misconception(
                "good_updates_not_in_a_row",
                "You go on counting good updates after an overflow. They must be in a row.",
                {ROW: "", AFTER: "                bad = 0"},
            ),
            counted="in a row",
        ),
        when(
            Misconception(
                "count_kept_after_a_change",
                "You keep the count of good updates when the scale falls. After a change it starts again.",
                {AFTER: "                bad = 0"},
            ),
            counted="since the last change",
        ),
        Misconception(
            "grown_at_each_good_update",
            "You go on raising the scale after the interval. After a change the count starts again.",
            {"good == interval": "good >= interval", '["factor"]\n            good = 0': '["factor"]'},
        ),
        Misconception(
            "grown_one_update_late",
            "You raise the scale one good update too late. Look at the last update of the interval.",
            {"good == interval": "good > interval"},
        ),
        Misconception(
            "never_grown",
            "You never raise the scale. Count the good updates.",
            {'scale *= options["factor"]': "pass"},
        ),
        Misconception(
            "never_lowered",
            "You never lower the scale. Look at what an overflow does.",
            {LEAST: "scale"},
        ),
        Misconception(
            "exercise_of_the_lesson",
            "You solve the exercise of the lesson. This contract differs from it: read each of its lines.",
            {'options["factor"]': "2", LEAST: "scale / 2", 'bad == options["patience"]': "True"},
        ),
    ),
    _run_scales,
    scales_cases,
    lambda case: (
        f"start {case.start:g}, interval {case.interval}, {sum(case.overflows)} overflows in "
        f"{len(case.overflows)} updates"
    ),
    noun="scale",
)
MASTER = '(4 if options["master"] == "float32" else 2) * trained'
GRADIENTS = '(2 if options["gradients"] == "bfloat16" else 4) * trained'
MOMENTS = '(4 + (4 if options["second"] == "float32" else 2)) * trained'
BYTES = FamilyJudge(
    training_bytes,
    (
        Misconception(
            "frozen_weights_trained",
            "You count gradients and state of frozen parameters. They have weights alone.",
            {
                MASTER: MASTER.replace("trained", "(trained + frozen)"),
                GRADIENTS: GRADIENTS.replace("trained", "(trained + frozen)"),
                MOMENTS: MOMENTS.replace("trained", "(trained + frozen)"),
            },
        ),
        Misconception(
            "frozen_weights_forgotten",
            "You leave out the frozen parameters. Their weights are in memory, too.",
            {"2 * (trained + frozen)": "2 * trained"},
        ),
        Misconception(
            "weights_of_autocast",
            "You count the weights in float32, as under autocast. Here the model holds bfloat16, next to what the "
            "optimizer keeps.",
            {"2 * (trained + frozen)": "4 * (trained + frozen)", MASTER: "0"},
        ),
        when(
            Misconception(
                "master_weights_forgotten",
                "You count 4 bytes of each trained parameter too few: no float32 copy of the weights, or no moment "
                "in float32. Add up what the contract lists.",
                {MASTER: "0"},
            ),
            master="float32",
        ),
        when(
            Misconception(
                "rest_of_the_weights_forgotten",
                "You count 2 bytes of each trained parameter too few. The 16 bits that bfloat16 lacks are kept next "
                "to the weights.",
                {MASTER: "0"},
            ),
            master="split",
        ),
        when(
            Misconception(
                "copy_counted_whole",
                "You count a whole float32 copy of the weights. Two bytes and the two of the model make one.",
                {MASTER: "4 * trained"},
            ),
            master="split",
        ),
        when(
            Misconception(
                "gradients_in_bfloat16",
                "You count gradients in bfloat16. The contract keeps them in float32.",
                {GRADIENTS: "2 * trained"},
            ),
            gradients="float32",
            master="float32",
        ),
        when(
            Misconception(
                "gradients_in_float32",
                "You count gradients in float32. The contract keeps them in bfloat16.",
                {GRADIENTS: "4 * trained"},
            ),
            gradients="bfloat16",
            master="float32",
        ),
        Misconception(
            "bits_for_bytes",
            "You return bits. Divide by 8.",
            {"return weights + master + gradients + moments": "return 8 * (weights + master + gradients + moments)"},
        ),
        Misconception(
            "moments_forgotten",
            "You leave out the two moments of Adam.",
            {MOMENTS: "0"},
        ),
        Misconception(
            "gradients_forgotten",
            "You leave out the gradients, or as many bytes elsewhere. Add up what the contract lists.",
            {GRADIENTS: "0"},
            same_as=("master_weights_forgotten", "rest_of_the_weights_forgotten"),
        ),
        Misconception(
            "sixteen_bytes_of_the_lesson",
            "You count 16 bytes for each trained parameter, as in the lesson. Read what this run keeps.",
            {
                "2 * (trained + frozen)": "4 * (trained + frozen)",
                MASTER: "0",
                GRADIENTS: "4 * trained",
                MOMENTS: "8 * trained",
            },
            same_as=("weights_of_autocast",),
        ),
    ),
    _run_bytes,
    bytes_cases,
    lambda case: f"{case.trained:,} trained and {case.frozen:,} frozen parameters",
)

__getattr__ = variant_judges(TOPIC, judge_exam_scales=SCALES, judge_exam_training_bytes=BYTES)
