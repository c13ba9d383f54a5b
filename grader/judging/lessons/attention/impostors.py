"""Judges the faults that were found in functions that claim to be attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from grader.judging.misconceptions import Misconception, Table
from grader.lessons.attention.impostors import FAULTS, ImpostorCase, impostor_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Names = frozenset[str]


def faults_of(case: ImpostorCase) -> Names:
    """Return the names of the faults that a function has."""
    is_sound = (not case.window, case.is_scaled, case.is_masked_before, case.is_recomputed)
    return frozenset(name for name, holds in zip(FAULTS, is_sound, strict=True) if not holds)


@dataclass(frozen=True)
class Found:
    """What was found in each function.

    Attributes:
        pairs: The faults of each function, and the names that were found.
    """

    pairs: tuple[tuple[Names, Names], ...]

    @cached_property
    def first(self) -> tuple[Names, Names]:
        """The first pair that differs."""
        return next(pair for pair in self.pairs if pair[0] != pair[1])

    def missed(self, name: str) -> list[Names]:
        """The faults of functions that have this one, where it was not found."""
        return [faults for faults, names in self.pairs if name in faults - names]

    def reported(self, name: str) -> list[Names]:
        """The faults of functions that do not have this one, where it was reported."""
        return [faults for faults, names in self.pairs if name in names - faults]

    def is_implied_by(self, name: str, *others: str) -> bool:
        """Whether a fault is reported where it is not, and each time one of some others is there."""
        reported = self.reported(name)
        return bool(reported) and all(faults & set(others) for faults in reported)


def judge_attention_faults(observation: Observation, seed: int) -> Verdict:
    """Compare the names found in each function."""
    faults = [faults_of(case) for case in impostor_cases(seed)]
    found = Found(tuple((own, frozenset(names)) for own, names in zip(faults, observation.facts["found"], strict=True)))
    if all(own == names for own, names in found.pairs):
        measured = f"{sum(map(len, faults))} faults in {len(faults)} functions, and none where there is none"
        return Verdict(PASSED, "every fault found", measured)
    own, names = found.first
    otherwise = "Run each of your tests on a function with this fault alone, and on a sound one."
    return TABLE.explain(found, expected=_say(own), measured=_say(names), otherwise=otherwise)


def _say(names: Names) -> str:
    return f"faults: {', '.join(sorted(names))}" if names else "no fault"


def _missing(name: str) -> Callable[[Found], bool]:
    return lambda found: bool(found.missed(name))


def _wrong(name: str) -> Callable[[Found], bool]:
    return lambda found: bool(found.reported(name))


TESTS = {
    "window": "Take more positions than the widest window, no mask and equal scores. Look at whether the last output "
    "depends on the first value at all.",
    "scale": "Compare with exact attention of 2 to 5 positions, which no window cuts, without a mask. One position, "
    "one feature or equal keys hide the scale.",
    "mask_after_softmax": "Take a causal call in which all values are 1: every output is 1 if the weights add up to 1. "
    "Look at all positions, because the last one sees every key.",
    "matrix_kept": "Measure what is saved for inputs that require gradients, at two lengths far above head_dim. If the "
    "time doubles, a factor near 4 shows a matrix, and 2 shows none, however many bytes there are.",
}
TABLE = Table[Found](
    Misconception(
        "nothing_found",
        "You find no fault in any function. Look at what your tests compare.",
        shown_by=lambda found: not any(names for _, names in found.pairs),
    ),
    Misconception(
        "same_for_every_function",
        "You return the same names for every function. Look at whether your tests call the one that is given.",
        shown_by=lambda found: len({names for _, names in found.pairs}) == 1,
    ),
    Misconception(
        "missed_next_to_another",
        "You find each fault where it is alone, but miss one where there are several. Look for a test that runs only "
        "if another found nothing, or that another fault changes.",
        shown_by=lambda found: all(names == own if len(own) < 2 else names <= own for own, names in found.pairs),
    ),
    Misconception(
        "every_difference_is_a_window",
        "You report a window wherever the output differs from exact attention. Test only whether far keys matter.",
        shown_by=lambda found: found.is_implied_by("window", "scale", "mask_after_softmax"),
    ),
    Misconception(
        "window_taken_for_a_scale",
        "You report a missing scale where a window cuts keys off. Use fewer positions than any window has.",
        shown_by=lambda found: found.is_implied_by("scale", "window"),
    ),
    Misconception(
        "mask_taken_for_a_scale",
        "You report a missing scale where only the causal mask is wrong. Test the scale without a mask.",
        shown_by=lambda found: found.is_implied_by("scale", "mask_after_softmax"),
    ),
    Misconception(
        "other_faults_taken_for_the_mask",
        "You report the mask where scale or window is wrong. Use values that make the output independent of both.",
        shown_by=lambda found: found.is_implied_by("mask_after_softmax", "scale", "window"),
    ),
    *(
        Misconception[Found](
            f"{name}_missed", f"You miss {name} in a function that has it. {TESTS[name]}", shown_by=_missing(name)
        )
        for name in FAULTS
    ),
    *(
        Misconception[Found](
            f"{name}_reported", f"You report {name} in a function without it. {TESTS[name]}", shown_by=_wrong(name)
        )
        for name in FAULTS
    ),
)
