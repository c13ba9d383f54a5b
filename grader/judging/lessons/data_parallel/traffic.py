"""Judges what backwards send: each trained gradient once, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.judging.lessons.data_parallel.hook_causes import explain_by_hooks, explain_silence
from grader.judging.lessons.data_parallel.hooks import judge_library
from grader.judging.lessons.data_parallel.reports import Facts, all_reduces, bytes_of, facts_of
from grader.lessons.data_parallel.hooks import HooksCase, hooks_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict


def judge_synchronised_bytes(observation: Observation, seed: int) -> Verdict:
    """Judge the bytes of the collectives of every backward on every rank."""
    total = 0
    for number, case in enumerate(hooks_cases(seed)):
        facts = facts_of(observation, number, case.world_size)
        verdict = judge_library(facts)
        if verdict:
            return verdict
        for rank, fact in enumerate(facts):
            for update, calls in enumerate(fact["calls"]):
                verdict = _judge_backward(case, fact, update, f"rank {rank} of {case.world_size}")
                if verdict:
                    return verdict
                total += bytes_of(calls)
    measured = f"{format_bytes(total)} in all backwards of all ranks: each trained gradient once"
    return Verdict(PASSED, "each trained gradient all-reduced once for each backward", measured)


def trained_bytes(case: HooksCase) -> int:
    """Return the bytes of all trained parameters, a tied one once."""
    return sum(parameter.nbytes for parameter in case.make_model(0).parameters() if parameter.requires_grad)


def _judge_backward(case: HooksCase, fact: Facts, update: int, place: str) -> Verdict | None:
    calls: Sequence[Sequence[Any]] = fact["calls"][update]
    wanted, reduced = trained_bytes(case), sum(all_reduces(calls))
    others = bytes_of(calls) - reduced
    if reduced == wanted and not others:
        return None
    expected = f"in backward {update + 1} on {place}, all-reduces of {wanted:,} bytes: each trained gradient once"
    measured = f"all-reduces of {reduced:,} bytes" + (f", and {others:,} bytes in other collectives" if others else "")
    if not calls:
        look_at = "You make no all-reduce while backward runs. Look at whether the hook is registered on every rank."
        code, look_at = explain_silence(fact) or ("nothing_reduced", look_at)
        return Verdict(code, expected, "no collective", look_at)
    if others:
        names = ", ".join(sorted({str(name) for name, _ in calls} - {"all_reduce"}))
        look_at = f"You use {names} in a backward. One all-reduce for each gradient is enough."
        return Verdict("other_collectives", expected, measured, look_at)
    code, look_at = _explain_bytes(case, fact, update)
    return Verdict(code, expected, measured, look_at)


def _explain_bytes(case: HooksCase, fact: Facts, update: int) -> tuple[str, str]:
    """Explain all-reduces in one backward that have not the bytes of the trained gradients."""
    sizes = all_reduces(fact["calls"][update])
    wanted, reduced, model = trained_bytes(case), sum(sizes), case.make_model(0)
    frozen = sum(parameter.nbytes for parameter in model.parameters() if not parameter.requires_grad)
    tied = dict(model.named_parameters())["2.weight"].nbytes if case.is_tied else 0
    for excess, code, look_at in (
        (
            tied,
            "tied_gradient_reduced_twice",
            "You all-reduce the tied gradient twice. The tied weight is one parameter: "
            "model.parameters() gives it once.",
        ),
        (
            frozen,
            "frozen_parameters_reduced",
            "You all-reduce something for frozen parameters. They have no gradient: hook what requires one.",
        ),
        (
            tied + frozen,
            "tied_twice_and_frozen",
            "You go through the parameters by their names, so a tied one comes twice and frozen ones "
            "take part. Use model.parameters() and requires_grad.",
        ),
    ):
        if excess and reduced - wanted == excess:
            return code, look_at
    trained = sorted(parameter.nbytes for parameter in model.parameters() if parameter.requires_grad)
    if reduced == 2 * wanted and (len(sizes) == 1 or sorted(sizes) == [2 * nbytes for nbytes in trained]):
        return (
            "gradients_in_64_bits",
            "You all-reduce the gradients in 64 bits. They are in 32: send parameter.grad itself.",
        )
    if reduced and reduced % wanted == 0:
        look_at = (
            "You all-reduce each gradient several times. Look at how many hooks a parameter has, and at what each does."
        )
        return "reduced_several_times", look_at
    if 2 * reduced == wanted:
        return (
            "gradients_in_16_bits",
            "You all-reduce the gradients in 16 bits. They are in 32: send parameter.grad itself.",
        )
    if reduced > wanted and len(sizes) > len(trained):
        look_at = (
            "You all-reduce other gradients in a hook than that of its own parameter. A hook receives "
            "one parameter: reduce that one."
        )
        return "hook_reduces_others", look_at
    if reduced > wanted:
        return "bytes_in_excess", "You all-reduce more than the gradients. Look at what each hook sends."
    look_at = "You do not all-reduce every gradient. Look at which parameters get a hook."
    return explain_by_hooks(case, fact, update) or ("some_gradients_not_reduced", look_at)
