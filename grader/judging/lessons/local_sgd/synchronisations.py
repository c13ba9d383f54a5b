"""Verdict on the predicted synchronisations of local SGD, and on when it equals data parallel training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.local_sgd.synchronisations import (
    MOMENTUM,
    OPTIMIZERS,
    PLAIN,
    SynchronisationsCase,
    synchronisations_cases,
)
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0


def updates(case: SynchronisationsCase) -> int:
    """Return the updates of each rank."""
    return -(-case.micro_batches // case.k)


def synchronisations(case: SynchronisationsCase) -> int:
    """Return the averages of the run, the final one included where it is needed."""
    return -(-updates(case) // case.every)


def is_equal(case: SynchronisationsCase) -> bool:
    """Return whether the run ends in the weights of data parallel training."""
    return case.optimizer in (PLAIN, MOMENTUM) and synchronisations(case) == updates(case)


_LAST = "the end: is there an update that no average has followed yet?"
_GROUPS = "micro-batches make updates, k at a time, and the last group may be shorter: count the updates first"

COUNT_MISTAKES: tuple[Mistake[SynchronisationsCase], ...] = (
    Mistake("final_average_forgotten", lambda c: updates(c) // c.every, _LAST),
    Mistake(
        "final_average_always",
        lambda c: updates(c) // c.every + 1,
        "the end: if an average has followed the last update already, the ranks agree",
    ),
    Mistake("micro_batches_counted", lambda c: -(-c.micro_batches // c.every), _GROUPS),
    Mistake("micro_batches_counted_without_final", lambda c: c.micro_batches // c.every, f"{_GROUPS}; then, {_LAST}"),
    Mistake(
        "micro_batches_counted_and_always_final",
        lambda c: c.micro_batches // c.every + 1,
        f"{_GROUPS}; then, the end: is a final average needed?",
    ),
    Mistake(
        "short_group_forgotten",
        lambda c: -(-(c.micro_batches // c.k) // c.every),
        "the last group may be shorter than k: it makes an update too",
    ),
    Mistake(
        "short_group_forgotten_but_alone",
        lambda c: -(-max(1, c.micro_batches // c.k) // c.every),
        "max(1, micro_batches // k) counts a short group where it is the only one: it makes an update anywhere",
    ),
    Mistake(
        "short_group_rounded",
        lambda c: -(-round(c.micro_batches / c.k) // c.every),
        "round() drops a short last group of less than half of k: it makes an update too",
    ),
    Mistake(
        "short_group_and_final_forgotten",
        lambda c: c.micro_batches // c.k // c.every,
        f"the last group may be shorter than k, and makes an update too; then, {_LAST}",
    ),
    Mistake(
        "short_group_forgotten_and_always_final",
        lambda c: c.micro_batches // c.k // c.every + 1,
        "the last group may be shorter than k, and makes an update too; then, is a final average needed?",
    ),
    Mistake(
        "averages_rounded",
        lambda c: round(updates(c) / c.every),
        f"round() drops a last average for fewer than half of `every` updates; {_LAST}",
    ),
    Mistake(
        "at_least_one_average",
        lambda c: max(1, updates(c) // c.every),
        f"max(1, updates // every) has a final average where it is the only one; {_LAST}",
    ),
    Mistake(
        "one_added_to_round_up",
        lambda c: (updates(c) + 1) // c.every,
        "an added 1 makes // round up for every = 2 alone: what does it take for any `every`?",
    ),
    Mistake("updates_counted", lambda c: updates(c), "every: the ranks do not average after each update"),
    Mistake(
        "every_left_out", lambda c: c.micro_batches, "every and k: the ranks do not average after each micro-batch"
    ),
    Mistake(
        "rounded_nowhere", lambda c: updates(c) / c.every, "a number of averages is whole: what happens at the end?"
    ),
    Mistake(
        "divided_by_both",
        lambda c: c.micro_batches / c.k / c.every,
        "updates and averages are whole numbers: what happens at the end of a group, and at the end of the run?",
    ),
    Mistake(
        "sixty_updates_assumed",
        lambda c: -(-60 // c.every),
        "60 is the number of updates of one run of the lesson: count those of this run",
    ),
    Mistake("every_given_back", lambda c: c.every, "every is what lies between two averages, not how many there are"),
    Mistake("final_only", lambda c: 1, "there is an average after every few updates, not only at the end"),
    Mistake("never", lambda c: 0, "the ranks average: after which updates?"),
    Mistake("off_by_one", lambda c: synchronisations(c) - 1, "one average is missing in each run: which one?"),
    Mistake("one_too_many", lambda c: synchronisations(c) + 1, "one average too many in each run: which one?"),
)


class _Rule(NamedTuple):
    """A way to answer the second question."""

    code: str
    answers: Callable[[SynchronisationsCase], bool]
    look_at: str


_DIVIDES = "AdamW divides by a root that each rank computes from its own gradients: is a mean of quotients a quotient?"
_CLIPS = "each rank clips by the norm of its own gradient: do two ranks divide by one number?"
_BUFFER = "momentum: each rank's step is a sum of its gradients so far, so what is the mean of the ranks' steps?"
_ENDS = "one average at the end: at which weights did each rank compute its second gradient?"
_BINDS = "`and` binds more tightly than `or`: for which optimizers does your condition ask for `every`?"
_ALONE = "a run with one update is averaged after it: that is an average after every update too"


def _is_linear(case: SynchronisationsCase, *more: str) -> bool:
    return case.optimizer in (*OPTIMIZERS[:2], *more)


def _is_single(case: SynchronisationsCase) -> bool:
    return synchronisations(case) == updates(case)


EQUAL_RULES = (
    _Rule("one_average_at_the_end", lambda c: _is_linear(c) and (c.every == 1 or updates(c) <= c.every), _ENDS),
    _Rule(
        "one_average_is_enough", lambda c: c.every == 1 or updates(c) <= c.every, f"{_ENDS} And which step is linear?"
    ),
    _Rule(
        "adamw_equal_at_one_update",
        lambda c: is_equal(c) or (c.optimizer == OPTIMIZERS[3] and updates(c) == 1),
        f"a single update: {_DIVIDES}",
    ),
    _Rule(
        "momentum_equal_at_one_update_only",
        lambda c: is_equal(c) and (c.optimizer == OPTIMIZERS[0] or updates(c) == 1),
        _BUFFER,
    ),
    _Rule("every_one_only", lambda c: _is_linear(c) and c.every == 1, _ALONE),
    _Rule(
        "parentheses_missing",
        lambda c: c.optimizer == OPTIMIZERS[0] or (c.optimizer == OPTIMIZERS[1] and c.every == 1),
        _BINDS,
    ),
    _Rule(
        "parentheses_missing",
        lambda c: c.optimizer == OPTIMIZERS[0] or (c.optimizer == OPTIMIZERS[1] and _is_single(c)),
        _BINDS,
    ),
    _Rule(
        "last_update_averaged",
        lambda c: _is_linear(c) and not updates(c) % c.every,
        "an average after the last update makes the ranks agree: at which weights were their gradients computed?",
    ),
    _Rule("optimizer_left_out", lambda c: c.every == 1, "the optimizer: is its step linear in the gradient?"),
    _Rule("optimizer_left_out_with_single", _is_single, "the optimizer: is its step linear in the gradient?"),
    _Rule("clipping_thought_linear", lambda c: _is_single(c) and _is_linear(c, OPTIMIZERS[2]), _CLIPS),
    _Rule("clipping_linear_every_one_only", lambda c: c.every == 1 and _is_linear(c, OPTIMIZERS[2]), _CLIPS),
    _Rule("adamw_thought_linear", lambda c: _is_single(c) and _is_linear(c, OPTIMIZERS[3]), _DIVIDES),
    _Rule("adamw_linear_every_one_only", lambda c: c.every == 1 and _is_linear(c, OPTIMIZERS[3]), _DIVIDES),
    _Rule("momentum_thought_unequal", lambda c: _is_single(c) and c.optimizer == OPTIMIZERS[0], _BUFFER),
    _Rule("momentum_unequal_every_one_only", lambda c: c.every == 1 and c.optimizer == OPTIMIZERS[0], _BUFFER),
    _Rule("every_left_out_of_equality", lambda c: _is_linear(c), "every: what happens between two averages?"),
    _Rule(
        "accumulation_thought_unequal",
        lambda c: _is_linear(c) and _is_single(c) and c.k == 1,
        "k: accumulated gradients are summed on each rank, and sums are linear too",
    ),
    _Rule("always_equal", lambda c: True, "between two averages each rank walks away on gradients of its own"),
    _Rule("never_equal", lambda c: False, "an average after every update: for which optimizers is it the same?"),
    _Rule("turned_round", lambda c: not is_equal(c), "True stands for equal weights"),
)


def judge_local_sgd_synchronisations(observation: Observation, seed: int) -> Verdict:
    """Compare both answers for every run with those of real ranks."""
    cases = synchronisations_cases(seed)
    counts = [float(count) for count, _ in observation.facts["predicted"]]
    equal = [bool(said) for _, said in observation.facts["predicted"]]
    for case, count in zip(cases, counts, strict=True):
        if count != synchronisations(case):
            mistake = recognise(COUNT_MISTAKES, cases, counts, relative=1e-6) or _unspecific(counts, seed)
            wanted = f"{synchronisations(case)} synchronisations for {_describe(case)}"
            return failed(
                mistake, wanted, f"{count:,.10g}", "the updates of a rank; then after which of them it averages"
            )
    for case, said in zip(cases, equal, strict=True):
        if said != is_equal(case):
            rule = next((one for one in EQUAL_RULES if [one.answers(c) for c in cases] == equal), None)
            code, look_at = (
                (rule.code, rule.look_at) if rule else (UNRECOGNISED, "a step that is linear in the gradient")
            )
            return Verdict(code, f"equal to data parallel: {is_equal(case)}, for {_describe(case)}", str(said), look_at)
    return Verdict(PASSED, "both answers for every run", f"{len(cases)} runs, each with its averages, and equal or not")


def _unspecific(counts: Sequence[float], seed: int) -> Mistake[SynchronisationsCase] | None:
    if seed != VISIBLE_SEED and counts == [synchronisations(case) for case in synchronisations_cases(VISIBLE_SEED)]:
        return Mistake("visible_case_hard_coded", lambda c: 0, "numbers that are right for other runs: compute them")
    if len(set(counts)) == 1:
        return Mistake("same_for_all", lambda c: 0, "the answer is the same for every run: what does it depend on?")
    return None


def _describe(case: SynchronisationsCase) -> str:
    return f"{case.micro_batches} micro-batches, k = {case.k}, every = {case.every}, {case.optimizer}"
