"""Judges what 8-bit Adam keeps between two steps: codes and scales, and float32 for small tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from grader.judging.misconceptions import Misconception, Table
from grader.lessons.adam_8bit.updates import EIGHT_BIT_STEPS, EightBitCase
from grader.testbed.block_codes import BLOCK
from grader.verdict import Verdict

MOST_COUNTERS = 4  # a step count may be a tensor of one number, and there may be a few of them
BOOKS = 2 * 256  # both code books may be in the state, once

Settings = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Traces:
    """What the steps of a case changed that is not theirs to change, and what they keep outside the state.

    Attributes:
        facts: "is_gradient_changed" of each tensor, "gradients_removed", "options_changed", and "kept_numbers".
    """

    facts: Mapping[str, Any]

    @property
    def options(self) -> str:
        """The options that changed, in words."""
        return ", ".join(map(str, self.facts["options_changed"]))


LEFT_ALONE = Table[Traces](
    Misconception(
        "gradient_removed",
        "You set weight.grad to None, or call zero_grad(), within the step. The loop does that.",
        shown_by=lambda traces: traces.facts["gradients_removed"],
        expected="gradients as they were",
        measured="a gradient that is None after the step",
    ),
    Misconception(
        "gradient_changed",
        "You write into weight.grad. Make a new tensor instead.",
        shown_by=lambda traces: any(traces.facts["is_gradient_changed"]),
        expected="gradients as they were",
        measured="another gradient after the step",
    ),
    Misconception(
        "options_changed",
        "You write into a group. A schedule changes options; a step only reads them.",
        shown_by=lambda traces: bool(traces.facts["options_changed"]),
        expected="options as they were",
        measured="{options} after the step",
    ),
)
KEPT_OUTSIDE = Table[Traces](
    Misconception(
        "moments_kept_outside_the_state",
        "You keep numbers outside optimizer.state. Look at attributes of the optimizer and entries of its groups.",
        shown_by=lambda traces: traces.facts["kept_numbers"] > BOOKS + MOST_COUNTERS,
        expected="codes and scales in optimizer.state only",
        measured="{facts[kept_numbers]:,} numbers outside optimizer.state",
    )
)


@dataclass(frozen=True)
class KeptState:
    """The state of one tensor after the last step.

    Attributes:
        case: The case.
        index: Of the tensor.
        found: Numbers in its state, by their format; what tensors share counts for the first of them.
        spare: Numbers of the code books that no tensor before it has shown.
    """

    case: EightBitCase
    index: int
    found: Mapping[str, int]
    spare: int

    @property
    def numbers(self) -> int:
        """Numbers of the tensor."""
        return prod(self.case.shapes[self.index])

    @property
    def total(self) -> int:
        """Numbers in its state."""
        return sum(self.found.values())

    @property
    def codes(self) -> int:
        """Numbers of one byte in its state."""
        return self.found.get("uint8", 0)

    @property
    def others(self) -> int:
        """All other numbers in its state."""
        return self.total - self.codes

    @property
    def scales(self) -> int:
        """Scales that two moments need."""
        return 2 * -(-self.numbers // BLOCK)

    @property
    def moments(self) -> int:
        """Numbers of both moments."""
        return 2 * self.numbers

    @property
    def expected(self) -> str:
        """What a right state holds, in words."""
        text = f"two float32 moments of {self.numbers} numbers each"
        if self.case.is_quantized(self.index):
            text = f"{self.moments} codes in uint8 and {self.scales} scales in float32"
        return f"{text} ({self.case.describe(self.index)})"

    @property
    def measured(self) -> str:
        """What the state holds, in words."""
        return ", ".join(f"{count} numbers in {name}" for name, count in self.found.items()) or "no tensor in its state"

    @property
    def has_books(self) -> bool:
        """Whether there are code books in it that a tensor before it has, too, or that a small one does not need."""
        if self.case.is_quantized(self.index):
            return self.others > self.scales + MOST_COUNTERS + self.spare
        more = self.total - self.moments
        return any(0 <= more - books <= MOST_COUNTERS for books in (BOOKS // 2, BOOKS))


def _large(code: str, diagnosis: str, shown_by: Callable[[KeptState], bool]) -> Misconception[KeptState]:
    return Misconception(code, diagnosis, shown_by=lambda kept: kept.case.is_quantized(kept.index) and shown_by(kept))


def _small(code: str, diagnosis: str, shown_by: Callable[[KeptState], bool]) -> Misconception[KeptState]:
    return Misconception(
        code, diagnosis, shown_by=lambda kept: not kept.case.is_quantized(kept.index) and shown_by(kept)
    )


NOT_UPDATED = Table[KeptState](
    Misconception(
        "state_without_gradient",
        "You make a state for a tensor that never has a gradient. Skip it before its state is made.",
        shown_by=lambda kept: kept.total > 0,
        expected="no state: it has no gradient",
    )
)
UPDATED = Table[KeptState](
    _small(
        "small_tensors_not_float32",
        "You keep the moments of a small tensor in another format than float32. Look at tensors of fewer than 4,096 "
        "numbers.",
        lambda kept: kept.total >= kept.moments > kept.found.get("float32", 0),
    ),
    _large(
        "codes_not_in_one_byte",
        "You keep codes that take more than one byte each. Between two steps they are torch.uint8.",
        lambda kept: not kept.codes and kept.others >= kept.moments,
    ),
    Misconception(
        "moments_kept_elsewhere",
        "You keep the moments outside optimizer.state. Keep them there: it is what a checkpoint saves.",
        shown_by=lambda kept: kept.total < (1 if kept.case.is_quantized(kept.index) else kept.moments),
    ),
    _large(
        "codes_of_one_moment",
        "You keep fewer codes than two moments have. Both moments of a large tensor are codes.",
        lambda kept: kept.codes < kept.moments,
    ),
    _large(
        "too_many_codes",
        "You keep more codes than two moments have. Look at what else the state holds in one byte.",
        lambda kept: kept.codes > kept.moments,
    ),
    _large(
        "scales_kept_elsewhere",
        "You keep the scales outside the state. Without them no code has a value: keep them next to the codes.",
        lambda kept: kept.others < kept.scales,
    ),
    _large(
        "moments_kept_too",
        "You keep more than codes and scales. Moments, weights and gradients have no place in the state.",
        lambda kept: kept.others >= kept.scales + kept.numbers,
    ),
    Misconception(
        "code_books_for_each_tensor",
        "You keep code books for each tensor. All of them share two.",
        shown_by=lambda kept: kept.has_books,
    ),
    _small(
        "small_state_too_large",
        "You keep more than two moments and a count for a small tensor. Look at what else its state holds.",
        lambda kept: kept.total > kept.moments + MOST_COUNTERS,
    ),
)


def judge_left_alone(settings: Settings) -> Verdict | None:
    """Judge that steps leave gradients and options as they are."""
    return _first(LEFT_ALONE, settings)


def judge_state(cases: Sequence[EightBitCase], settings: Settings) -> Verdict | None:
    """Judge how many numbers of which format each state holds, and how many are kept outside of the states."""
    for case, facts in zip(cases, settings, strict=True):
        spare = BOOKS
        for index, found in enumerate(facts["formats"]):
            kept = KeptState(case, index, found, spare)
            table = UPDATED if case.first_steps.get(index, 1) <= EIGHT_BIT_STEPS else NOT_UPDATED
            verdict = table.judge(kept, kept.expected, kept.measured)
            if verdict:
                return verdict
            if case.is_quantized(index) and table is UPDATED:
                spare -= max(0, found.get("float32", 0) - kept.scales - MOST_COUNTERS)
    return _first(KEPT_OUTSIDE, settings)


def _first(table: Table[Traces], settings: Settings) -> Verdict | None:
    return next((verdict for facts in settings if (verdict := table.judge(Traces(facts)))), None)
