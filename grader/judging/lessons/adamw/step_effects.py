"""Judges what a step of Adam leaves besides the weights: gradients, options and the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from grader.judging.misconceptions import Misconception, Table
from grader.testbed.optimizer_steps import STEPS, UpdateCase
from grader.verdict import Verdict

FLOAT32_BYTES = 4
MOST_COUNTERS = 4  # a step count may be a tensor of one number, and there may be a few of them
MOST_COUNTER_BYTES = 8


@dataclass(frozen=True)
class Effects:
    """What the steps of a case did to one tensor, its state and its group.

    Attributes:
        case: The case.
        index: Of the tensor.
        facts: What was recorded of the case.
    """

    case: UpdateCase
    index: int
    facts: Mapping[str, Any]

    @property
    def numbers(self) -> int:
        """Numbers of the tensor."""
        return prod(self.case.shapes[self.index])

    @property
    def is_updated(self) -> bool:
        """Whether it ever has a gradient."""
        return self.case.first_steps.get(self.index, 1) <= STEPS

    @property
    def entries(self) -> int:
        """Entries of its state."""
        return int(self.facts["state_entries"][self.index])

    @property
    def elements(self) -> int:
        """Numbers in tensors of its state."""
        return int(self.facts["state_elements"][self.index])

    @property
    def state_bytes(self) -> int:
        """Bytes of these tensors."""
        return int(self.facts["state_bytes"][self.index])

    @property
    def moment_bytes(self) -> int:
        """Bytes of two moments in float32, the format of the parameters here."""
        return 2 * self.numbers * FLOAT32_BYTES

    @property
    def is_in_another_format(self) -> bool:
        """Whether the moments have other bytes than two of float32, or those of a 16-bit parameter are not 16-bit."""
        beyond = self.state_bytes - self.moment_bytes
        return bool(self.facts.get("wide_moments")) or not 0 <= beyond <= MOST_COUNTERS * MOST_COUNTER_BYTES

    @property
    def changed_options(self) -> str:
        """The options that changed, in words."""
        return ", ".join(map(str, self.facts["changed_options"]))

    @property
    def text(self) -> str:
        """The tensor and its options, in words."""
        return self.case.describe(self.index)


_MOMENTS = "two moments of {numbers} numbers each, and a count"
_ELEMENTS = "{elements} numbers in tensors of its state"

GRADIENTS = Table[Effects](
    Misconception(
        "gradient_changed",
        "You write into the gradient, with a method such as add_(). Make a new tensor instead.",
        shown_by=lambda effects: effects.facts["is_gradient_changed"][effects.index],
        expected="the gradient as it was ({text})",
        measured="another gradient after the step",
    )
)
STATE_AND_OPTIONS = Table[Effects](
    Misconception(
        "state_without_gradient",
        "You write into the state of a tensor that never has a gradient. Skip it before any line that touches its "
        "state.",
        shown_by=lambda effects: not effects.is_updated and effects.entries > 0,
        expected="no state: it has no gradient",
        measured="{entries} entries in its state, with {elements} numbers in tensors",
    ),
    Misconception(
        "moments_kept_elsewhere",
        "You keep the moments outside the state. A checkpoint saves the state that your function receives: keep them "
        "there.",
        shown_by=lambda effects: effects.is_updated and effects.elements < 2 * effects.numbers,
        expected=_MOMENTS,
        measured=_ELEMENTS,
    ),
    Misconception(
        "state_too_large",
        "You keep more in the state than the next step needs: two moments and a step count.",
        shown_by=lambda effects: effects.is_updated and effects.elements > 2 * effects.numbers + MOST_COUNTERS,
        expected=_MOMENTS,
        measured=_ELEMENTS,
    ),
    Misconception(
        "moments_in_another_format",
        "You keep the moments in another number format than their parameter. zeros_like(parameter) has the right one; "
        "look for .double(), .half() or a dtype. A 16-bit parameter shows it, too.",
        shown_by=lambda effects: effects.is_updated and effects.is_in_another_format,
        expected="two moments in the format of their parameter, {moment_bytes} bytes, and a count",
        measured="{state_bytes} bytes of state",
    ),
    Misconception(
        "options_changed",
        "You write into a group. Its options belong to the caller and to the schedule: compute with names of your own.",
        shown_by=lambda effects: bool(effects.changed_options),
        expected="groups with the options as they were",
        measured="another {changed_options}",
    ),
    Misconception(
        "gradient_dropped",
        "You set .grad to None within the step. The caller clears gradients, with zero_grad().",
        shown_by=lambda effects: effects.facts["is_gradient_gone"],
        expected="gradients that stay after a step",
        measured="a .grad that is None",
    ),
    Misconception(
        "parameter_frozen",
        "You turn requires_grad off, so the next backward pass gives this parameter no gradient. Look for the line "
        "that sets it.",
        shown_by=lambda effects: effects.facts["is_frozen"],
        expected="parameters that keep requires_grad",
        measured="requires_grad False after a step",
    ),
)


def judge_effects(
    table: Table[Effects], cases: Sequence[UpdateCase], settings: Sequence[Mapping[str, Any]]
) -> Verdict | None:
    """Return the verdict on the first tensor that shows a misconception of a table, or None."""
    every = (
        Effects(case, index, facts)
        for case, facts in zip(cases, settings, strict=True)
        for index in range(len(case.shapes))
    )
    return next((verdict for effects in every if (verdict := table.judge(effects))), None)
