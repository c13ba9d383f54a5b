"""What a dynamic loss scale does after an update: the rule of torch.amp.GradScaler, and rules that learners follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Rule = Callable[[float, int, bool, int], tuple[float, int]]
"""Takes the scale, the good updates counted, whether this update found inf, and the growth interval."""

DEFAULT_SCALE = 2.0**16  # the first scale of torch.amp.GradScaler


@dataclass(frozen=True)
class WrongRule:
    """A misconception of the rule.

    Attributes:
        code: Its stable name.
        rule: What it does after an update.
        look_at: What the learner is told to look at.
    """

    code: str
    rule: Rule
    look_at: str


def right_rule(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    """Halve after an infinity; double after `interval` good updates in a row."""
    if is_inf:
        return scale / 2, 0
    return (scale * 2, 0) if good + 1 == interval else (scale, good + 1)


def _without_back_off(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale, 0) if is_inf else right_rule(scale, good, False, interval)


def _infinity_ignored(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return right_rule(scale, good, False, interval)


def _infinity_passed_over(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale, good) if is_inf else right_rule(scale, good, False, interval)


def _count_kept(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2, good) if is_inf else right_rule(scale, good, False, interval)


def _infinity_counted(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    grown, count = right_rule(scale, good, False, interval)
    return (grown / 2 if is_inf else grown), count


def _infinity_counted_without_growth(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    if is_inf:
        return scale / 2, 0 if good + 1 == interval else good + 1
    return right_rule(scale, good, False, interval)


def _infinity_is_the_first(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2, 1) if is_inf else (scale * 2, 0) if good + 1 >= interval else (scale, good + 1)


def _without_growth(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2, 0) if is_inf else (scale, 0)


def _growth_again_and_again(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2, 0) if is_inf else (scale * 2 if good + 1 >= interval else scale, good + 1)


def _growth_once(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2, 0) if is_inf else (scale * 2 if good + 1 == interval else scale, good + 1)


def _growth_at_the_next(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    scale, good = (scale * 2, 0) if good == interval else (scale, good)
    return (scale / 2, 0) if is_inf else (scale, good + 1)


def _growth_of_a_fixed_interval(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return right_rule(scale, good, is_inf, 4)


def _growth_is_the_first(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2, 0) if is_inf else (scale * 2, 1) if good + 1 >= interval else (scale, good + 1)


def _either_is_the_first(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2, 1) if is_inf else (scale * 2, 1) if good + 1 >= interval else (scale, good + 1)


def _growth_to_four_times(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale * 4, 0) if not is_inf and good + 1 == interval else right_rule(scale, good, is_inf, interval)


def _infinity_adds_to_count(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2, good + 1) if is_inf else right_rule(scale, good, False, interval)


def _infinity_takes_from_count(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2, good - 1) if is_inf else right_rule(scale, good, False, interval)


def _second_infinity_ignored(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    if is_inf:
        return scale if good < 0 else scale / 2, -1  # a count of -1 stands for an infinity right before
    return right_rule(scale, max(good, 0), False, interval)


def _growth_too_late(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return right_rule(scale, good, is_inf, interval + 1)


def _growth_too_early(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return right_rule(scale, good, is_inf, max(interval - 1, 1))


def _growth_every_time(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 2 if is_inf else scale * 2), 0


def _factors_exchanged(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    if is_inf:
        return scale * 2, 0
    return (scale / 2, 0) if good + 1 == interval else (scale, good + 1)


def _back_off_to_a_quarter(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (scale / 4, 0) if is_inf else right_rule(scale, good, False, interval)


def _back_off_to_one(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return (1.0, 0) if is_inf else right_rule(scale, good, False, interval)


def _constant(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
    return scale, good


WRONG_RULES = (
    WrongRule("scale_never_changes", _constant, "the scale is the same from first to last: which updates change it?"),
    WrongRule("never_falls", _without_back_off, "back-off: what an update with inf does to the scale"),
    WrongRule("infinity_ignored", _infinity_ignored, "an update with inf is no good update, and it halves the scale"),
    WrongRule("infinity_passed_over", _infinity_passed_over, "an update with inf: what does it do to scale and count?"),
    WrongRule("count_not_reset", _count_kept, "good updates in a row: what an inf does to their count"),
    WrongRule("infinity_counted", _infinity_counted, "the count of good updates: an update with inf is none of them"),
    WrongRule(
        "infinity_counted_as_good",
        _infinity_counted_without_growth,
        "the count of good updates goes on through an inf, as if that update were good",
    ),
    WrongRule("count_starts_at_one", _infinity_is_the_first, "the count after an inf: that update itself is not good"),
    WrongRule("never_recovers", _without_growth, "growth: after so many good updates in a row the scale doubles"),
    WrongRule(
        "count_kept_after_growth", _growth_again_and_again, "the count after a growth: the next interval begins at 0"
    ),
    WrongRule("grows_too_late", _growth_too_late, "the comparison with growth_interval: one good update too many"),
    WrongRule("grows_too_early", _growth_too_early, "the comparison with growth_interval: one good update too few"),
    WrongRule("grows_every_time", _growth_every_time, "growth_interval: how many good updates does one growth take?"),
    WrongRule("grows_once", _growth_once, "the count begins again after a growth, too: which line sets it to 0?"),
    WrongRule("growth_at_the_next", _growth_at_the_next, "growth comes one update late: it belongs to the same update"),
    WrongRule("interval_hard_coded", _growth_of_a_fixed_interval, "growth after 4: the growth interval is an argument"),
    WrongRule(
        "count_starts_at_one_after_growth", _growth_is_the_first, "the count after a growth: it begins at 0, not at 1"
    ),
    WrongRule(
        "count_always_starts_at_one", _either_is_the_first, "the count begins again at 0, and not at 1, after either"
    ),
    WrongRule("grows_too_far", _growth_to_four_times, "growth: by which factor? Is it applied twice?"),
    WrongRule(
        "infinity_adds_to_count", _infinity_adds_to_count, "an inf adds to the count of good updates: it ends the row"
    ),
    WrongRule(
        "infinity_takes_from_count", _infinity_takes_from_count, "an inf takes 1 from the count: it ends the whole row"
    ),
    WrongRule("second_infinity_ignored", _second_infinity_ignored, "two infs in a row: every one of them halves"),
    WrongRule("factors_exchanged", _factors_exchanged, "which of the two doubles, and which halves?"),
    WrongRule("falls_too_far", _back_off_to_a_quarter, "back-off: by which factor? Is it applied twice?"),
    WrongRule("falls_to_one", _back_off_to_one, "back-off: one inf halves the scale, and does not end it"),
)


def fold(rule: Rule, start_scale: float, interval: int, found_inf: Sequence[bool]) -> float:
    """Return the scale after a history that does not depend on it."""
    scale, good = start_scale, 0
    for is_inf in found_inf:
        scale, good = rule(scale, good, is_inf, interval)
    return scale


def follow(
    rule: Rule, start_scale: float, interval: int, updates: int, is_overflow: Callable[[int, float], bool]
) -> list[float]:
    """Return the scale after each update, where overflow depends on the scale itself."""
    scale, good, scales = start_scale, 0, []
    for update in range(updates):
        scale, good = rule(scale, good, is_overflow(update, scale), interval)
        scales.append(scale)
    return scales
