"""Verdict on a function that tells what a training on several ranks averages."""

from __future__ import annotations

from collections.abc import Sequence

from grader.cases.local_sgd import DRIVER, GRADIENTS, METHODS, NOTHING, PARAMETERS, MethodCase, method_cases
from grader.judges.local_sgd.evidence import RankEvidence, evidence_of
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def judge_local_sgd_method(observation: Observation, seed: int) -> Verdict:
    """Compare the answer of every rank with the truth."""
    answers = []
    for number, case in enumerate(method_cases(seed)):
        ranks = evidence_of(observation, number, case.world_size)
        for rank, evidence in enumerate(ranks):
            verdict = _judge_call(case, rank, evidence)
            if verdict:
                return verdict
        answers.append((case, [str(evidence.facts["answer"]) for evidence in ranks]))
    for case, said in answers:
        if set(said) != {case.method}:
            expected = f'"{case.method}" on each of {case.world_size} ranks: {_describe(case)}'
            code, look_at = _explain(answers)
            return Verdict(code, expected, ", ".join(said), look_at)
    return Verdict(PASSED, "the same right answer on every rank", f"{len(answers)} trainings on 2 and 3 ranks")


def _judge_call(case: MethodCase, rank: int, evidence: RankEvidence) -> Verdict | None:
    facts, place = evidence.facts, f"on rank {rank} of {case.world_size}"
    if facts["answer"] == "NoneType":
        look_at = "the end of your function: does every rank return its answer?"
        return Verdict("returned_none", f"one of {', '.join(METHODS)} {place}", "None", look_at)
    if not facts["is_text"] or facts["answer"] not in METHODS:
        look_at = "the text that your function returns: it is one of four"
        code = "other_word" if facts["is_text"] else "no_text"
        return Verdict(code, f"one of {', '.join(METHODS)} {place}", str(facts["answer"]), look_at)
    if facts["trained"] != 1:
        measured = f"train was called {facts['trained']} times"
        return Verdict(
            "trained_another_time", f"one call of train {place}", measured, "where train(model, optimizer) is called"
        )
    if facts["hooks_left"]:
        look_at = "a hook stays until its handle's remove() is called"
        return Verdict("hook_left_behind", f"an optimizer without your hooks {place}", "a hook of yours", look_at)
    wanted = case.updates if case.method != DRIVER or rank == case.driver else 0
    if facts["steps"] != wanted:
        look_at = "optimizer.step() is train's: your function only watches"
        return Verdict("stepped_too", f"{wanted} steps {place}", f"{facts['steps']}", look_at)
    return None


def _explain(answers: Sequence[tuple[MethodCase, list[str]]]) -> tuple[str, str]:
    if any(len(set(said)) > 1 for _, said in answers):
        return "ranks_answer_differently", "the answer has to be the same on every rank: who tells whom?"
    said = {(case, one[0]) for case, one in answers}
    if len({one for _, one in said}) == 1:
        return "same_for_all", "the answer does not depend on the training: what does your function compare?"
    for wrong, code, look_at in _KNOWN:
        if all(one == wrong(case) for case, one in said):
            return code, look_at
    names = ", ".join(sorted({f"{case.method} taken for {one}" for case, one in said if case.method != one}))
    return "methods_mixed_up", f"{names}: what tells them apart, by the contract?"


def _driver_by_rank_zero(case: MethodCase) -> str:
    return GRADIENTS if case.method == DRIVER and case.driver else case.method


_KNOWN = (
    (
        lambda case: GRADIENTS if case.method == PARAMETERS and case.every == 1 else case.method,
        "weights_compared_for_gradients",
        "with an average after each update the weights agree before each step: what differs between the ranks?",
    ),
    (
        lambda case: GRADIENTS if case.is_first_shared else case.method,
        "first_update_only",
        "at the first update ranks may agree by chance: compare at every update",
    ),
    (
        lambda case: GRADIENTS if case.method == DRIVER else case.method,
        "driver_not_seen",
        "a rank that never steps: how often does each rank step?",
    ),
    (
        lambda case: PARAMETERS if case.method == DRIVER else case.method,
        "driver_taken_for_average",
        "a rank that never steps: how often does each rank step?",
    ),
    (_driver_by_rank_zero, "driver_is_rank_zero", "the driver may be any rank: how often does each of them step?"),
    (
        lambda case: NOTHING if case.method == DRIVER and case.driver else case.method,
        "driver_is_rank_zero",
        "the driver may be any rank: how often does each of them step?",
    ),
    (
        lambda case: PARAMETERS if case.method == GRADIENTS else case.method,
        "gradients_not_compared",
        "where all ranks step with the same gradient, the weights agree as well: compare the gradients first",
    ),
    (
        lambda case: PARAMETERS if case.method == NOTHING else case.method,
        "end_not_compared",
        "ranks that step on gradients of their own: do their weights agree at the end?",
    ),
    (
        lambda case: NOTHING if case.method == PARAMETERS else case.method,
        "own_gradients_taken_for_nothing",
        "ranks that step on gradients of their own: do their weights agree at the end?",
    ),
)


def _describe(case: MethodCase) -> str:
    if case.method == PARAMETERS:
        return f"each rank steps on its own, and parameters are averaged after {case.every} updates and at the end"
    if case.method == DRIVER:
        return f"gradients are averaged, rank {case.driver} alone steps, and its parameters are broadcast"
    return "gradients are averaged, and every rank steps" if case.method == GRADIENTS else "the ranks never talk"
