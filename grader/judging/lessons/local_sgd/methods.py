"""Verdict on a function that tells what a training on several ranks averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.judging.lessons.local_sgd.evidence import RankEvidence, evidence_of
from grader.lessons.local_sgd.methods import (
    DRIVER,
    FIRST_SHARED,
    GRADIENTS,
    LAST_BITS,
    LAST_PARAMETER,
    LAST_SHARED,
    METHODS,
    NOTHING,
    OWN_ROWS,
    PARAMETERS,
    RANK_TWO,
    REORDERED,
    MethodCase,
    method_cases,
)
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def method_of(case: MethodCase) -> str:
    """Return what a right test calls the training."""
    if case.is_driver_alone:
        return DRIVER
    if case.is_gradient_averaged:
        return GRADIENTS
    return PARAMETERS if case.is_parameter_averaged else NOTHING


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
        if set(said) != {method_of(case)}:
            expected = f'"{method_of(case)}" on each of {case.world_size} ranks: {_describe(case)}'
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
    if facts["is_copy"]:
        look_at = "train is to train the model that your function is given: what are the ranks' weights afterwards?"
        return Verdict("trained_a_copy", f"train called with the given model {place}", "another model", look_at)
    if "a hook" in facts["left"]:
        look_at = "a hook stays until its handle's remove() is called"
        return Verdict(
            "hook_left_behind", f"a model and an optimizer without hooks {place}", "a hook of yours", look_at
        )
    if facts["left"]:
        expected, look_at = f"the optimizer's own step {place}", "your function replaced it: who puts it back?"
        return Verdict("step_left_replaced", expected, "another optimizer.step", look_at)
    wanted = case.updates if method_of(case) != DRIVER or rank == case.driver else 0
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
    names = ", ".join(sorted({f"{method_of(case)} taken for {one}" for case, one in said if method_of(case) != one}))
    return "methods_mixed_up", f"{names}: what tells them apart, by the contract?"


def _gradients_if(is_taken: Callable[[MethodCase], bool]) -> Callable[[MethodCase], str]:
    """Return what a test answers that takes gradients for equal in some cases where they are not."""
    return lambda case: GRADIENTS if is_taken(case) else method_of(case)


_WHICH_DRIVER = "the driver may be any rank: how often does each of them step?"
_EXACT = "the same means equal to the last bit: torch.equal, or lists of numbers, without a tolerance"
_EVERY = "gradients may agree at one update and differ at others: compare all of them"
_MANY = "a sum or a length is one number for many: different gradients may share it"

_KNOWN = (
    (
        lambda case: NOTHING if method_of(case) == PARAMETERS and case.is_normalised else method_of(case),
        "buffers_compared",
        "model.state_dict() holds buffers too, and running statistics stay different: weights are model.parameters()",
    ),
    (
        _gradients_if(lambda case: method_of(case) == PARAMETERS and case.every == 1),
        "weights_compared_for_gradients",
        "with an average after each update the weights agree before each step: what differs between the ranks?",
    ),
    (_gradients_if(lambda case: case.difference == FIRST_SHARED), "first_update_only", _EVERY),
    (_gradients_if(lambda case: case.difference == LAST_SHARED), "last_update_only", _EVERY),
    (_gradients_if(lambda case: case.difference in (FIRST_SHARED, LAST_SHARED)), "one_update_is_enough", _EVERY),
    (
        _gradients_if(lambda case: case.difference == LAST_SHARED or method_of(case) == DRIVER),
        "read_after_training",
        "gradients that are read once, after train, are those of its last update: a hook can read them at every step",
    ),
    (
        _gradients_if(lambda case: method_of(case) in (PARAMETERS, NOTHING)),
        "gradients_always_equal",
        "where all ranks step, you find equal gradients, whatever they are: what do you compare when train has ended?",
    ),
    (
        _gradients_if(lambda case: case.difference == LAST_SHARED and case.is_kept),
        "gradients_not_copied",
        "p.grad may be one tensor that each backward writes into: keep a copy of what it holds",
    ),
    (_gradients_if(lambda case: case.difference == LAST_BITS), "gradients_with_a_tolerance", _EXACT),
    (
        lambda case: PARAMETERS if method_of(case) == NOTHING and case.difference == LAST_BITS else method_of(case),
        "weights_with_a_tolerance",
        _EXACT,
    ),
    (
        _gradients_if(lambda case: case.difference == LAST_PARAMETER),
        "not_all_parameters",
        "ranks may differ in one parameter only: whose gradients do you compare?",
    ),
    (_gradients_if(lambda case: case.difference == REORDERED), "one_number_for_many", _MANY),
    (_gradients_if(lambda case: case.difference in (REORDERED, LAST_BITS)), "one_number_for_many", _MANY),
    (
        _gradients_if(lambda case: case.difference == RANK_TWO or case.driver == 2),
        "third_rank_ignored",
        "there may be more than two ranks: whose gradients and steps do you compare?",
    ),
    (
        lambda case: PARAMETERS if method_of(case) in (GRADIENTS, DRIVER) else method_of(case),
        "gradients_read_too_early",
        "gradients count as each rank steps with them: do you compare them, and are they read right before a step?",
    ),
    (
        lambda case: PARAMETERS if method_of(case) == DRIVER and case.driver else method_of(case),
        "driver_is_rank_zero",
        _WHICH_DRIVER,
    ),
    (
        lambda case: GRADIENTS if method_of(case) == DRIVER else method_of(case),
        "driver_not_seen",
        "a rank that never steps: how often does each rank step?",
    ),
    (
        lambda case: PARAMETERS if method_of(case) == DRIVER else method_of(case),
        "driver_taken_for_average",
        "a rank that never steps: how often does each rank step?",
    ),
    (_gradients_if(lambda case: method_of(case) == DRIVER and case.driver > 0), "driver_is_rank_zero", _WHICH_DRIVER),
    (
        lambda case: NOTHING if method_of(case) == DRIVER and case.driver else method_of(case),
        "driver_is_rank_zero",
        _WHICH_DRIVER,
    ),
    (
        lambda case: PARAMETERS if method_of(case) == GRADIENTS else method_of(case),
        "gradients_not_compared",
        "where all ranks step with the same gradient, the weights agree as well: compare the gradients first",
    ),
    (
        lambda case: PARAMETERS if method_of(case) == NOTHING else method_of(case),
        "end_not_compared",
        "ranks that step on gradients of their own: do their weights agree at the end?",
    ),
    (
        lambda case: NOTHING if method_of(case) == PARAMETERS else method_of(case),
        "own_gradients_taken_for_nothing",
        "ranks that step on gradients of their own: do their weights agree at the end?",
    ),
)


def _describe(case: MethodCase) -> str:
    differ = "" if case.difference == OWN_ROWS else f" (the ranks' own gradients: {case.difference})"
    differ += ", and running statistics never" if case.is_normalised else ""
    if method_of(case) == PARAMETERS:
        return f"each rank steps on its own, and parameters are averaged after {case.every} updates{differ}"
    if method_of(case) == DRIVER:
        return f"gradients are averaged, rank {case.driver} alone steps, and its parameters are broadcast"
    if method_of(case) == GRADIENTS:
        return "gradients are averaged, and every rank steps"
    return f"the ranks never talk{differ}"
