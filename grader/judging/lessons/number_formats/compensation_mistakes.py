"""Ways to add a value to a total in a narrow format that go wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from grader.judging.lessons.number_formats.wording import join_sentences
from grader.verdict import UNRECOGNISED

Step = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]

_LOST = "lost is what should have been added, less what was added. The second is new total - old total"


def compensated(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Add a value and what was lost before, and return what is lost now.

    Source: W. Kahan, Further remarks on reducing truncation errors, CACM 8 (1965).
    """
    wanted = value + lost
    new = total + wanted
    return new, wanted - (new - total)


def _plain(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return total + value, lost


def _never_added(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    new = total + value
    return new, lost + (value - (new - total))


def _last_only(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    new = total + value
    return new, value - (new - total)


def _forgets_itself(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    new = total + (value + lost)
    return new, value - (new - total)


def _added_twice(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    wanted = value + lost
    new = total + wanted
    return new, lost + (wanted - (new - total))


def _wrong_sign(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    wanted = value + lost
    new = total + wanted
    return new, (new - total) - wanted


def _subtracted(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    wanted = value - lost
    new = total + wanted
    return new, wanted - (new - total)


def _published_sign(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    wanted = value - lost
    new = total + wanted
    return new, (new - total) - wanted


def _changed_order(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    wanted = value + lost
    new = total + wanted
    return new, wanted - new + total


def _total_difference(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    new = total + (value + lost)
    return new, total - new


def _total_difference_turned(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    new = total + (value + lost)
    return new, new - total


def _lost_in_the_total_twice(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    wanted = value + lost
    new = total + wanted + lost
    return new, wanted - (new - total)


def _lost_of_value_alone(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return total + (value + lost), value - ((total + value) - total)


def _without_sign(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    new, new_lost = compensated(total, lost, value)
    return new, new_lost.abs()


def _old_total_missed(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    exact = total.double() + lost.double() + value.double()
    return exact.to(total.dtype), (exact - total.double()).to(total.dtype)


def _one_or_the_other(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    new = total + lost
    is_large = new != total
    return torch.where(is_large, new, total + value), torch.where(is_large, value, lost + value)


def _old_total_gone(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    wanted = value + lost
    return total + wanted, wanted


def _swapped(total: Tensor, lost: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    new, new_lost = compensated(total, lost, value)
    return new_lost, new


# The first is right: totals of the visible case are told by it.
STEPS: tuple[tuple[str, Step], ...] = (
    ("lost_is_not_what_is_missing", compensated),
    ("nothing_carried", _plain),
    ("lost_never_added", _never_added),
    ("lost_of_one_step", _last_only),
    ("lost_forgets_itself", _forgets_itself),
    ("lost_added_twice", _added_twice),
    ("lost_with_wrong_sign", _wrong_sign),
    ("lost_subtracted", _subtracted),
    ("sign_of_the_published_form", _published_sign),
    ("old_total_gone", _old_total_gone),
    ("order_of_operations", _changed_order),
    ("added_for_lost", _total_difference),
    ("added_for_lost", _total_difference_turned),
    ("lost_in_the_total_twice", _lost_in_the_total_twice),
    ("lost_of_value_alone", _lost_of_value_alone),
    ("lost_without_sign", _without_sign),
    ("old_total_for_new", _old_total_missed),
    ("lost_or_value", _one_or_the_other),
    ("order_swapped", _swapped),
)

LOOK_AT: Mapping[str, str] = {
    "nothing_carried": "a value below half a spacing vanishes: where is it kept until it counts?",
    "lost_never_added": "lost grows, and the total stands still: where does lost enter the next addition?",
    "lost_of_one_step": "what was lost in the steps before this one: is it added, or kept?",
    "lost_forgets_itself": join_sentences(_LOST, "Does what should have been added include the old lost?"),
    "lost_added_twice": "the old lost is part of what you added: is it counted once more?",
    "lost_with_wrong_sign": join_sentences("the sign of lost: total + lost is to be the better sum", _LOST),
    "lost_subtracted": "the sign of lost: it is missing from the total, so it is added",
    "sign_of_the_published_form": "the sign of lost: books keep what was added too much, here it is what is missing",
    "old_total_gone": join_sentences(
        "lost is all that you wanted to add, so nothing was taken from it", _LOST, "Was the old total changed in place?"
    ),
    "order_of_operations": join_sentences(
        "the order of operations: each of them is rounded, so the difference of the two totals comes first",
        _LOST,
    ),
    "added_for_lost": join_sentences("the difference of the two totals is what was added, not what was lost", _LOST),
    "lost_in_the_total_twice": "the total: is the old lost added to it once, or twice?",
    "lost_of_value_alone": "what was lost by adding the value alone: was the old lost added without any loss?",
    "lost_without_sign": "the sign of lost: after a total that was rounded up, it is negative",
    "old_total_for_new": join_sentences("the exact sum, less the new total: is it the old one in yours?", _LOST),
    "lost_or_value": "both in one step: what you add is the value and the old lost together",
    "order_swapped": "the order of what you return: the total comes first",
    "visible_case_hard_coded": "totals that are right for other values: what does one step add?",
    "stalled": "small values vanish beside a large total: where are they kept until they count?",
    "lost_is_not_what_is_missing": join_sentences("the total is right, and lost is not what it lacks", _LOST),
    UNRECOGNISED: join_sentences("one addition by hand, 4 + 0.01 in bf16: what is added, and what is lost?", _LOST),
}
