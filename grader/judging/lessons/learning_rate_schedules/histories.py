"""Says how learning rates or norms differ from the right ones, where no edit of a reference reproduces them."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.nearness import IsNear
from grader.judging.references import Answer

Numbers = Sequence[float]


def first_wrong(right: Numbers, given: Numbers, is_near: IsNear) -> tuple[int, float]:
    """Return the place of the first number that differs, and its ratio to the right one; -1 and 1 if none does."""
    pairs = enumerate(zip(given, right, strict=False))
    wrong = ((place, one / other if other else one) for place, (one, other) in pairs if not is_near(one, other))
    return next(wrong, (-1, 1.0))


def explain_rates(answer: Answer, right: Numbers, given: Numbers, look: str, warm_up: int = 0) -> tuple[str, str]:
    """Return a code and a diagnosis for the rates of a run.

    Args:
        answer: The answer that holds them.
        right: The right rate of each update.
        given: The learner's.
        look: Where to look, a sentence.
        warm_up: Updates of the warm-up.
    """
    is_near, peak, resumed = answer.table.is_near, max(right), getattr(answer.case, "done", 0)
    (first, ratio), resumes = first_wrong(right, given, is_near), f"{right[resumed] / peak:.3g} times the peak"
    if len(given) != len(right):
        return "other_count_of_updates", f"You make {len(given)} updates, where {len(right)} are right. {look}"
    if first == 0 and right[0] == 0:
        rises = "Update 0 has the rate 0, which rises to the peak at the end of the warm-up."
        return "first_rate_above_zero", f"You start at {given[0] / peak:.3g} times the peak. {rises}"
    if not resumed and is_near(given[1:], right[:-1]):
        return "one_update_late", f"Your rates come late: each update has the rate of the one before it. {look}"
    if not resumed and is_near(given[: len(right[::2])], right[::2]):
        return "two_steps_each_update", f"Your schedule makes two steps for each update. {look}"
    if first == resumed > 0:
        cause = "If the two agree, take the peak from `initial_lr`; if not, look at which update you resume."
        return "resumed_at_another_rate", f"You resume at {ratio:.3g} times the right rate, which is {resumes}. {cause}"
    if first < warm_up:
        rule = "It is the peak, not the present rate, times the share of the warm-up that is done: /, not //."
        return "other_warm_up", f"Your rate at update {first} of the warm-up is {ratio:.4g} times the right one. {rule}"
    gaps = [0.0 if is_near(one, other) else one - other for one, other in zip(given, right, strict=True)]
    side = "too low" if max(gaps) <= 0 else "too high" if min(gaps) >= 0 else "in part too high, in part too low"
    worst = max(range(len(gaps)), key=lambda update: abs(gaps[update]))
    places = f"first at update {first}, most at update {worst}, with {given[worst]:.4g} for {right[worst]:.4g}"
    return "other_rates", f"Your rate is {side}: {places}. {look}"
