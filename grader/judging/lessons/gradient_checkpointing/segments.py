"""Judges the predicted peak of a chain that is checkpointed in segments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import is_near, within
from grader.judging.references import VISIBLE_SEED, Answer, ReferenceTable, hard_coded
from grader.lessons.gradient_checkpointing.segments import SegmentsCase, segments_cases
from grader.meters.forecast import forecast_peak_memory
from grader.observation import Observation
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, Verdict

# Random states, gradients of finished segments and of the loss, which the exercise leaves out, are up to 1.5 %.
TOLERANCE = 0.03
RELATIVE_TOLERANCE = 1e-3  # of a misconception's formula


def segment_peak(parameter_bytes: int, boundary_bytes: int, interior_bytes: int, blocks: int, k: int) -> float:
    """Return the bytes when a segment has run again: inputs of all segments, and one segment in full."""
    always = parameter_bytes + 2 * boundary_bytes  # with the output of the chain, and a buffer as large
    block = boundary_bytes + interior_bytes
    kept = blocks / k * boundary_bytes
    segment = k * block
    return always + kept + segment


def judge_segment_peak(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with the measured chain, and name the misconception that explains a miss."""
    cases, predicted = segments_cases(seed), observation.facts["predicted_bytes"]
    ratios = [value / true_peak(case) for case, value in zip(cases, predicted, strict=True)]
    wrong = next((index for index, ratio in enumerate(ratios) if abs(ratio - 1) > TOLERANCE), None)
    if wrong is None:
        worst = f"the largest difference from the measured peak is {max(abs(ratio - 1) for ratio in ratios):.1%}"
        return Verdict(PASSED, f"{len(cases)} peaks within {TOLERANCE:.0%}", f"{len(cases)} peaks; {worst}")
    peak = format_bytes(true_peak(cases[wrong]))
    return TABLE.explain(
        TABLE.answer(seed, predicted),
        expected=f"{peak} within {TOLERANCE:.0%} (measured) for {_describe(cases[wrong])}",
        measured=f"{format_bytes(predicted[wrong])}, which is {ratios[wrong] - 1:+.1%}",
        otherwise="Draw the moment when a segment has run again: which inputs are kept, and what is in the segment?",
    )


@cache
def true_peak(case: SegmentsCase) -> int:
    """Return the measured peak of a chain."""
    return forecast_peak_memory(case.prepare, operators="cpu").peak_bytes


def _describe(case: SegmentsCase) -> str:
    sizes = {"boundary": case.boundary_bytes, "interior": case.interior_bytes, "parameters": case.parameter_bytes}
    said = ", ".join(f"{name} {format_bytes(size)}" for name, size in sizes.items())
    return f"{case.blocks} blocks, {said}, k = {case.k}"


def _run(peak: Callable[..., float], case: SegmentsCase) -> float:
    return peak(case.parameter_bytes, case.boundary_bytes, case.interior_bytes, case.blocks, case.k)


def _is_visible(answer: Answer) -> bool:
    """Return whether the answers are right for the chains of a notebook, as formulas or as measured there."""
    peaks = [true_peak(case) for case in segments_cases(VISIBLE_SEED)]
    return is_near(answer.values, peaks, relative=TOLERANCE)


KEPT, SEGMENT, SUM = "blocks / k * boundary_bytes", "segment = k * block", "always + kept + segment"
TABLE = ReferenceTable(
    segment_peak,
    Misconception(
        "mebibytes_for_bytes",
        "You return MiB, but bytes are asked for. Look at the last division.",
        {SUM: f"({SUM}) / {MIB}"},
        variants=[{SUM: f"({SUM}) // {MIB}"}],
    ),
    Misconception(
        "recompute_forgotten",
        "You count what checkpoints keep, but not what runs again. Backward needs a whole segment: add it.",
        {SUM: "always + kept"},
        variants=[{SUM: "parameter_bytes + kept"}],
    ),
    Misconception(
        "inputs_forgotten",
        "You leave out the inputs of the segments. A segment can run again only from its input, so all of them are "
        "kept.",
        {SUM: "always + segment"},
    ),
    Misconception(
        "one_block_recomputed",
        "You count one block as recomputed, but a checkpoint holds k of them. All k are in memory once it has run "
        "again.",
        {SEGMENT: "segment = block"},
    ),
    Misconception(
        "k_taken_for_segments",
        "You take k for the number of segments, but it is the number of blocks in one. Look at how many segments there "
        "are.",
        {KEPT: "k * boundary_bytes", SEGMENT: "segment = blocks / k * block"},
    ),
    Misconception(
        "every_input_kept",
        "You keep the input of every block. A checkpoint keeps the input of its first block only.",
        {KEPT: "blocks * boundary_bytes"},
        variants=[{KEPT: "blocks * boundary_bytes", SEGMENT: "segment = k * interior_bytes"}],
    ),
    Misconception(
        "nothing_recomputed",
        "You return the peak of the plain chain, whatever k is. Look at what a checkpoint throws away.",
        {SUM: "always + blocks * block"},
    ),
    Misconception(
        "interior_forgotten",
        "You leave out the interiors of the blocks. Backward needs them for each block of the segment that has run "
        "again.",
        {SEGMENT: "segment = k * boundary_bytes"},
    ),
    Misconception(
        "boundaries_of_the_segment_forgotten",
        "You leave out the boundaries within the segment. Once it has run again, each of its blocks has one.",
        {SEGMENT: "segment = k * interior_bytes"},
    ),
    Misconception(
        "everything_divided_by_k",
        "You divide all activations by k, as if longer segments always needed less. Think of all blocks in one "
        "checkpoint.",
        {SUM: "always + blocks * block / k"},
    ),
    Misconception(
        "every_segment_recomputed_at_once",
        "You hold all segments at once. Backward runs one segment again, uses it, and frees it before the next.",
        {SUM: "always + kept + blocks * block"},
    ),
    Misconception(
        "best_k_assumed",
        "You use the square root, which holds for the best k only. Use the k that is given.",
        {SUM: "always + 2 * (blocks * boundary_bytes * block) ** 0.5"},
        variants=[{SUM: "always + 2 * blocks**0.5 * boundary_bytes"}],
    ),
    Misconception(
        "larger_part_only",
        "You take the larger of two parts, but kept inputs and the segment at work are in memory at the same time. Add "
        "them.",
        {SUM: "always + max(kept, segment)"},
    ),
    Misconception(
        "output_and_buffer_forgotten",
        "You leave out the two boundaries that the contract adds. They are the output of the chain and one buffer.",
        {"parameter_bytes + 2 * boundary_bytes": "parameter_bytes"},
    ),
    Misconception(
        "one_boundary_too_few",
        "You count one boundary too few. There are the inputs of all segments, one for each block that has run again, "
        "the output of the chain, and a buffer.",
        {"2 * boundary_bytes": "boundary_bytes"},
    ),
    Misconception(
        "one_boundary_too_many",
        "You count one boundary too many. The output of the chain and the buffer are the only two that come on top.",
        {"2 * boundary_bytes": "3 * boundary_bytes"},
    ),
    Misconception(
        "every_interior_held",
        "You hold the interiors of all blocks. Only those of the segment that has run again are there.",
        {SEGMENT: "segment = k * boundary_bytes + blocks * interior_bytes"},
    ),
    Misconception(
        "interiors_of_inputs_kept",
        "You keep an interior with the input of every segment. A checkpoint keeps the input alone.",
        {KEPT: "blocks / k * block"},
    ),
    Misconception(
        "multiplied_by_k",
        "You multiply the blocks by k. Divide to find how many segments there are.",
        {KEPT: "blocks * k * boundary_bytes"},
    ),
    Misconception(
        "two_segments_held",
        "You hold two segments in full. Backward frees one before it runs the next one again.",
        {SEGMENT: "segment = 2 * k * block"},
    ),
    Misconception(
        "half_a_segment",
        "You count half a segment. The peak is where all of it has run again, and nothing is freed yet.",
        {SEGMENT: "segment = k * block / 2"},
        variants=[{SEGMENT: "segment = k // 2 * boundary_bytes + k * interior_bytes / 2"}],
    ),
    Misconception(
        "gradients_added",
        "You add the gradients of the parameters. The contract leaves them out.",
        {"parameter_bytes + 2": "2 * parameter_bytes + 2"},
    ),
    Misconception(
        "one_interior_only",
        "You count the interior of one block. Each of the k blocks of the segment has one.",
        {SEGMENT: "segment = k * boundary_bytes + interior_bytes"},
    ),
    Misconception(
        "parameters_forgotten",
        "You leave out the parameters. They are in memory all the time.",
        {"parameter_bytes + 2 * boundary_bytes": "2 * boundary_bytes"},
    ),
    replace(hard_coded(segments_cases), on=None, shown_by=_is_visible),
    run=_run,
    cases=segments_cases,
    is_near=within(relative=RELATIVE_TOLERANCE),
)
