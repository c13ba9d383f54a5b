"""Judges the faults that were found in functions that claim to be attention."""

from __future__ import annotations

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
    return TABLE.judge(found, _say(own), _say(names)) or Verdict(*_otherwise(found, _say(own), _say(names)))


def _otherwise(found: Found, expected: str, measured: str) -> tuple[str, str, str, str]:
    kinds = ((name, kind) for kind in ("missed", "reported") for name in FAULTS)
    name, kind = next((name, kind) for name, kind in kinds if getattr(found, kind)(name))
    have = sum(name in faults for faults, _ in found.pairs)
    seen, wrongly, others = have - len(found.missed(name)), len(found.reported(name)), len(found.pairs) - have
    look_at = f"You find {name} in {seen} of {have} functions that have it, and in {wrongly} of the {others} others. "
    if (seen, wrongly) == (0, others):
        return f"{name}_{kind}", expected, measured, f"{look_at}Turn the condition of this test round."
    look_at += "Your test never finds it. " if not seen + wrongly else ""
    look_at += "Your test finds it in every function. " if (seen, wrongly) == (have, others) else ""
    return f"{name}_{kind}", expected, measured, look_at + TESTS[name]


def _say(names: Names) -> str:
    return f"faults: {', '.join(sorted(names))}" if names else "no fault"


TESTS = {
    "window": "Take more positions than the widest window, no mask and equal scores, and look at whether the last "
    "output depends on the first value at all. A nearer key, equal values and fewer positions hide a window; a mask, "
    "unequal scores and a limit above 0 look like one.",
    "scale": "Compare with exact attention of 2 to 5 positions, which no window cuts, without a mask. One position, "
    "one feature, equal keys and a wide tolerance hide the scale; two kernels differ in the last digit.",
    "mask_after_softmax": "Take a causal call of several positions in which all values are 1: every output is 1 if the "
    "weights add up to 1. Hidden keys weigh 0 either way, the last query sees every key, and values of 0 hide the sum.",
    "matrix_kept": "Measure what is saved for inputs that require gradients, at two times far above head_dim, with the "
    "same heads. If the time doubles, a factor just below 4 shows a matrix, and 2 shows none, however many bytes there "
    "are.",
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
)
