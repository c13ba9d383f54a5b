"""Verdict on the predicted peak of a chain that is checkpointed in segments."""

from __future__ import annotations

import math
from functools import cache

from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.gradient_checkpointing.segments import SegmentsCase, segments_cases
from grader.meters.forecast import forecast_peak_memory
from grader.observation import Observation
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, Verdict

# Random states, gradients of finished segments and of the loss, which the exercise leaves out, are up to 1.5 %.
TOLERANCE = 0.03
VISIBLE_SEED = 0  # of the cases that a learner has seen


def always(case: SegmentsCase) -> int:
    """Return what is held at every moment of backward: parameters, the output, and a buffer as large."""
    return case.parameter_bytes + 2 * case.boundary_bytes


def kept(case: SegmentsCase) -> float:
    """Return the inputs of all segments."""
    return case.blocks / case.k * case.boundary_bytes


def block(case: SegmentsCase) -> int:
    """Return what backward needs of one block: its boundary and its interior."""
    return case.boundary_bytes + case.interior_bytes


def peak(case: SegmentsCase) -> float:
    """Return the inputs of all segments and one segment in full."""
    return always(case) + kept(case) + case.k * block(case)


SPLIT = "n blocks in segments of k: how many segments are there, and how many blocks in one of them?"

MISTAKES: tuple[Mistake[SegmentsCase], ...] = (
    Mistake("mebibytes_for_bytes", lambda c: peak(c) / MIB, "the unit: bytes are asked for"),
    Mistake(
        "recompute_forgotten",
        lambda c: always(c) + kept(c),
        "backward needs what forward threw away: what is there when one segment has run again?",
    ),
    Mistake(
        "recompute_forgotten",
        lambda c: c.parameter_bytes + kept(c),
        "backward needs what forward threw away: what is there when one segment has run again?",
    ),
    Mistake(
        "inputs_forgotten",
        lambda c: always(c) + c.k * block(c),
        "a segment can run again only from its input: how many inputs are kept?",
    ),
    Mistake(
        "one_block_recomputed",
        lambda c: always(c) + kept(c) + block(c),
        "one checkpoint holds k blocks: how many of them are in memory once it has run again?",
    ),
    Mistake("k_taken_for_segments", lambda c: always(c) + c.k * c.boundary_bytes + c.blocks / c.k * block(c), SPLIT),
    Mistake(
        "every_input_kept",
        lambda c: always(c) + c.blocks * c.boundary_bytes + c.k * block(c),
        "a checkpoint keeps the input of its first block: who keeps those of the others?",
    ),
    Mistake(
        "every_input_kept",
        lambda c: always(c) + c.blocks * c.boundary_bytes + c.k * c.interior_bytes,
        "a checkpoint keeps the input of its first block: who keeps those of the others?",
    ),
    Mistake(
        "nothing_recomputed",
        lambda c: always(c) + c.blocks * block(c),
        "the plain chain: your answer does not depend on k",
    ),
    Mistake(
        "interior_forgotten",
        lambda c: always(c) + kept(c) + c.k * c.boundary_bytes,
        "blocks with an interior: backward needs that too",
    ),
    Mistake(
        "boundaries_of_the_segment_forgotten",
        lambda c: always(c) + kept(c) + c.k * c.interior_bytes,
        "within a segment that has run again, each block has its boundary too",
    ),
    Mistake(
        "everything_divided_by_k",
        lambda c: always(c) + c.blocks * block(c) / c.k,
        "does a longer segment always need less? Think of all blocks in one checkpoint",
    ),
    Mistake(
        "every_segment_recomputed_at_once",
        lambda c: always(c) + kept(c) + c.blocks * block(c),
        "backward runs one segment again, uses it, and frees it before it comes to the next",
    ),
    Mistake(
        "interior_kept_with_inputs",
        lambda c: always(c) + c.blocks / c.k * block(c) + c.k * block(c),
        "at the end of a forward: what does a checkpoint keep besides its input?",
    ),
    Mistake(
        "best_k_assumed",
        lambda c: always(c) + 2 * math.sqrt(c.blocks * c.boundary_bytes * block(c)),
        "the square root holds for the best k only: which k is given?",
    ),
    Mistake(
        "best_k_assumed",
        lambda c: always(c) + 2 * math.sqrt(c.blocks) * c.boundary_bytes,
        "the square root holds for the best k only: which k is given?",
    ),
    Mistake(
        "larger_part_only",
        lambda c: always(c) + max(kept(c), c.k * block(c)),
        "kept inputs and the segment at work: are they there at different moments, or at the same?",
    ),
    Mistake(
        "output_and_buffer_forgotten",
        lambda c: peak(c) - 2 * c.boundary_bytes,
        "the two boundaries that the contract adds: the output of the chain, and one buffer",
    ),
    Mistake(
        "one_boundary_too_few",
        lambda c: peak(c) - c.boundary_bytes,
        "the output of a segment that has run again: a tensor of its own, beside the output of the chain",
    ),
    Mistake(
        "one_boundary_too_many",
        lambda c: peak(c) + c.boundary_bytes,
        "the output of one segment is the input of the next: which tensor is counted twice?",
    ),
    Mistake(
        "gradients_added", lambda c: peak(c) + c.parameter_bytes, "gradients of the parameters: they are left out here"
    ),
    Mistake(
        "every_interior_kept",
        lambda c: always(c) + kept(c) + c.k * c.boundary_bytes + c.blocks * c.interior_bytes,
        "interiors of segments that are not at work: they were thrown away",
    ),
    Mistake(
        "one_interior_only",
        lambda c: always(c) + kept(c) + c.k * c.boundary_bytes + c.interior_bytes,
        "a segment that has run again: each of its k blocks has an interior",
    ),
    Mistake(
        "inner_boundaries_doubled",
        lambda c: always(c) + kept(c) + c.k * (2 * c.boundary_bytes + c.interior_bytes),
        "the output of a block is the input of the next: one tensor, counted once",
    ),
    Mistake(
        "parameters_forgotten", lambda c: peak(c) - c.parameter_bytes, "parameter_bytes: they are held all the time"
    ),
    Mistake(
        "inputs_multiplied",
        lambda c: always(c) + kept(c) * c.k * block(c),
        "two amounts of bytes at one moment: are they added or multiplied?",
    ),
)


def judge_segment_peak(observation: Observation, seed: int) -> Verdict:
    """Compare every prediction with the measured chain, and name the misconception that explains a miss."""
    cases, predicted = segments_cases(seed), observation.facts["predicted_bytes"]
    truths = [_true_peak(case) for case in cases]
    misses = [abs(answer - truth) / truth for answer, truth in zip(predicted, truths, strict=True)]
    for case, answer, truth, miss in zip(cases, predicted, truths, misses, strict=True):
        if miss > TOLERANCE:
            expected = f"{format_bytes(truth)} within {TOLERANCE:.0%} (measured) for {_describe(case)}"
            measured = f"{format_bytes(answer)}, which is {answer / truth - 1:+.1%}"
            otherwise = "the moment when a segment has run again: which inputs are kept, and how large is it?"
            return failed(_recognise(cases, predicted), expected, measured, otherwise)
    worst = f"the largest difference from the measured peak is {max(misses):.1%}"
    return Verdict(PASSED, f"{len(cases)} peaks within {TOLERANCE:.0%}", f"{len(cases)} peaks; {worst}")


def _recognise(cases: tuple[SegmentsCase, ...], predicted: list[float]) -> Mistake[SegmentsCase] | None:
    mistake = recognise(MISTAKES, cases, predicted) or recognise(MISTAKES[:1], cases, predicted, relative=0.15)
    if mistake:
        return mistake
    look_at = "numbers that are right for other chains: which arguments does your answer use?"
    written_down = Mistake("visible_case_hard_coded", peak, look_at)
    if recognise((written_down,), segments_cases(VISIBLE_SEED), predicted, relative=TOLERANCE):
        return written_down
    return None


@cache
def _true_peak(case: SegmentsCase) -> int:
    return forecast_peak_memory(case.prepare, operators="cpu").peak_bytes


def _describe(case: SegmentsCase) -> str:
    pieces = (
        f"{case.blocks} blocks",
        f"boundary {format_bytes(case.boundary_bytes)}",
        f"interior {format_bytes(case.interior_bytes)}",
        f"parameters {format_bytes(case.parameter_bytes)}",
        f"k = {case.k}",
    )
    return ", ".join(pieces)
