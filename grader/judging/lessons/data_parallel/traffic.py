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
        look_at = "who calls all_reduce while backward runs: is the hook registered, and on every rank?"
        code, look_at = explain_silence(fact) or ("nothing_reduced", look_at)
        return Verdict(code, expected, "no collective", look_at)
    if others:
        names = ", ".join(sorted({str(name) for name, _ in calls} - {"all_reduce"}))
        look_at = f"{names} in a backward: one all-reduce for each gradient is enough"
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
            "the tied weight is one parameter: under how many names does it get a hook?",
        ),
        (frozen, "frozen_parameters_reduced", "a frozen parameter has no gradient: what is all-reduced for it?"),
        (tied + frozen, "tied_twice_and_frozen", "parameters by their names: which of them are the same, or frozen?"),
    ):
        if excess and reduced - wanted == excess:
            return code, look_at
    trained = sorted(parameter.nbytes for parameter in model.parameters() if parameter.requires_grad)
    if reduced == 2 * wanted and (len(sizes) == 1 or sorted(sizes) == [2 * nbytes for nbytes in trained]):
        return "gradients_in_64_bits", "the number format of what is all-reduced: the gradients are in 32 bits"
    if reduced and reduced % wanted == 0:
        look_at = "one all-reduce for each gradient: how many hooks has each parameter, and what does each do?"
        return "reduced_several_times", look_at
    if 2 * reduced == wanted:
        return "gradients_in_16_bits", "the number format: the gradients are in 32 bits"
    if reduced > wanted and len(sizes) > len(trained):
        look_at = "a hook is handed one parameter: of how many does yours all-reduce the gradient?"
        return "hook_reduces_others", look_at
    code = "some_gradients_not_reduced" if reduced < wanted else "bytes_in_excess"
    look_at = "which parameters get a hook, and what each hook all-reduces"
    return (explain_by_hooks(case, fact, update) if reduced < wanted else None) or (code, look_at)
