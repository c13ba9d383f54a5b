"""Judges a function that names what a training on several ranks averages."""

from __future__ import annotations

from dataclasses import dataclass

from grader.judging.lessons.local_sgd.evidence import RankEvidence, evidence_of
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.local_sgd.methods import (
    DRIVER,
    FIRST_SHARED,
    GRADIENTS,
    LAST_BITS,
    LAST_PARAMETER,
    LAST_SHARED,
    METHODS,
    NOT_NUMBERS,
    NOTHING,
    OTHER_UPDATES,
    OWN_ROWS,
    PARAMETERS,
    RANK_TWO,
    REORDERED,
    SIGNED_ZERO,
    MethodCase,
    method_cases,
)
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def method_of(case: MethodCase) -> str:
    """Return what a training averages."""
    if case.is_driver_alone:
        return DRIVER
    if case.is_gradient_averaged:
        return GRADIENTS
    return PARAMETERS if case.is_parameter_averaged else NOTHING


def answer_of(case: MethodCase) -> str:
    """Return what a right test answers."""
    return method_of(case)


# What misconceptions make of it: one condition, and what is answered where it holds.
METHOD = "return method_of(case)"


def _answers(wrong: str, condition: str) -> dict[str, str]:
    return {METHOD: f"return {wrong!r} if {condition} else method_of(case)"}


def _differs_by(*differences: str) -> str:
    return f"case.difference in {differences}"


def judge_local_sgd_method(observation: Observation, seed: int) -> Verdict:
    """Compare the answer of every rank with the truth."""
    cases, answers = method_cases(seed), []
    for number, case in enumerate(cases):
        ranks = evidence_of(observation, number, case.world_size)
        for rank, evidence in enumerate(ranks):
            verdict = CALLS.judge(Call(case, rank, evidence), "", f"{evidence.facts['answer']}")
            if verdict:
                return verdict
        answers.append([str(evidence.facts["answer"]) for evidence in ranks])
    for case, said in zip(cases, answers, strict=True):
        if set(said) != {method_of(case)}:
            expected = f'"{method_of(case)}" on each of {case.world_size} ranks: {_describe(case)}'
            answer = TABLE.answer(seed, [said[0] if len(set(said)) == 1 else SPLIT for said in answers])
            return TABLE.explain(answer, expected=expected, measured=", ".join(said), otherwise=OTHERWISE)
    return Verdict(PASSED, "", f"{len(answers)} trainings on 2 and 3 ranks, named alike on every rank")


SPLIT = "different answers"  # of the ranks
OTHERWISE = (
    "You mix up some of the four methods. Compare how often each rank steps, then the gradients at each step, and then "
    "the weights at the end."
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


@dataclass(frozen=True)
class Call:
    """One call of the function on one rank.

    Attributes:
        case: The training.
        rank: Number of the rank.
        evidence: What it reported.
    """

    case: MethodCase
    rank: int
    evidence: RankEvidence

    @property
    def place(self) -> str:
        """Where it ran."""
        return f"on rank {self.rank} of {self.case.world_size}"

    @property
    def steps(self) -> int:
        """How many steps train takes on this rank."""
        return self.case.updates if method_of(self.case) != DRIVER or self.rank == self.case.driver else 0


CALLS = Table[Call](
    Misconception(
        "returned_none",
        "You return nothing on some rank. Look at the end of your function: every rank has to return its answer.",
        shown_by=lambda call: call.evidence.facts["answer"] == "NoneType",
        expected=f"one of {', '.join(METHODS)} {{place}}",
    ),
    Misconception(
        "other_word",
        "You return something other than one of the four texts. Copy them from the contract.",
        shown_by=lambda call: not call.evidence.facts["is_text"] or call.evidence.facts["answer"] not in METHODS,
        expected=f"one of {', '.join(METHODS)} {{place}}",
    ),
    Misconception(
        "trained_another_time",
        "You do not call train exactly once. Call train(model, optimizer) once on every rank.",
        shown_by=lambda call: call.evidence.facts["trained"] != 1,
        expected="one call of train {place}",
        measured="another number of calls",
    ),
    Misconception(
        "trained_a_copy",
        "You train a copy. Train the model that your function is given.",
        shown_by=lambda call: call.evidence.facts["is_copy"],
        expected="train called with the given model {place}",
        measured="another model",
    ),
    Misconception(
        "hook_left_behind",
        "You leave a hook or an optimizer.step of yours behind. Remove it after the training.",
        shown_by=lambda call: bool(call.evidence.facts["left"]),
        expected="a model and an optimizer as before {place}",
        measured="something of yours on them",
    ),
    Misconception(
        "stepped_too",
        "You call optimizer.step() yourself. train steps, and your function only watches.",
        shown_by=lambda call: call.evidence.facts["steps"] != call.steps,
        expected="{steps} steps {place}",
        measured="another number of steps",
    ),
)
TABLE = ReferenceTable(
    answer_of,
    Misconception(
        "ranks_answer_differently",
        "You return different answers on different ranks. Let every rank know what the others saw.",
        shown_by=lambda answer: SPLIT in answer.values,
    ),
    Misconception(
        "same_for_all",
        "You return the same answer for every training. Compare what the ranks did.",
        shown_by=lambda answer: len(set(answer.values)) == 1,
    ),
    Misconception(
        "buffers_compared",
        "You compare buffers, too: model.state_dict() holds them, and running statistics stay different. Weights are "
        "model.parameters().",
        _answers(NOTHING, "method_of(case) == PARAMETERS and case.is_normalised"),
    ),
    Misconception(
        "weights_compared_for_gradients",
        "You compare weights before each step. With an average after every update they agree: compare gradients.",
        _answers(GRADIENTS, "method_of(case) == PARAMETERS and case.every == 1"),
    ),
    Misconception(
        "one_update_compared",
        "You compare the gradients of one update, but they may agree there and differ at others. Compare all of them.",
        _answers(GRADIENTS, _differs_by(FIRST_SHARED)),
        variants=[
            _answers(GRADIENTS, _differs_by(LAST_SHARED)),
            _answers(GRADIENTS, _differs_by(FIRST_SHARED, LAST_SHARED)),
        ],
    ),
    Misconception(
        "read_after_training",
        "You read the gradients once, after train: they are those of its last update. Read them at every step, in a "
        "hook.",
        _answers(GRADIENTS, f"{_differs_by(LAST_SHARED)} or method_of(case) == DRIVER"),
    ),
    Misconception(
        "gradients_always_equal",
        "You find equal gradients wherever all ranks step. Look at what you compare with what.",
        _answers(GRADIENTS, "method_of(case) in (PARAMETERS, NOTHING)"),
    ),
    Misconception(
        "gradients_not_copied",
        "You keep p.grad itself, a tensor that each backward may write into again. Keep a copy of what it holds.",
        _answers(GRADIENTS, f"{_differs_by(LAST_SHARED)} and case.is_kept"),
    ),
    Misconception(
        "tolerance_allowed",
        "You compare with a tolerance. The same means equal to the last bit: compare their bytes.",
        _answers(GRADIENTS, _differs_by(LAST_BITS)),
        variants=[_answers(PARAMETERS, f"method_of(case) == NOTHING and {_differs_by(LAST_BITS)}")],
    ),
    Misconception(
        "updates_added_up",
        "You compare what the updates add up to: the sum of the gradients, or one digest of them in any order. Ranks "
        "may step with the same gradients at other updates: compare them update by update.",
        _answers(GRADIENTS, _differs_by(OTHER_UPDATES)),
        variants=[_answers(GRADIENTS, _differs_by(OTHER_UPDATES, REORDERED))],
    ),
    Misconception(
        "numbers_compared_for_bits",
        "You compare numbers, but the same means equal to the last bit. As numbers 0 equals -0, and a NaN equals "
        "nothing, not even itself: compare bytes.",
        _answers(NOTHING, _differs_by(NOT_NUMBERS)),
        variants=[
            _answers(GRADIENTS, _differs_by(SIGNED_ZERO)),
            {
                METHOD: f"return {GRADIENTS!r} if {_differs_by(SIGNED_ZERO)} else {NOTHING!r} "
                f"if {_differs_by(NOT_NUMBERS)} else method_of(case)"
            },
        ],
    ),
    Misconception(
        "not_all_parameters",
        "You compare the gradients of some parameters only. Ranks may differ in a single one.",
        _answers(GRADIENTS, _differs_by(LAST_PARAMETER)),
    ),
    Misconception(
        "one_number_for_many",
        "You compare a sum or a norm, which different gradients may share. Compare all numbers.",
        _answers(GRADIENTS, _differs_by(REORDERED)),
        variants=[
            _answers(GRADIENTS, _differs_by(REORDERED, *others))
            for others in ((LAST_BITS,), (SIGNED_ZERO,), (LAST_BITS, SIGNED_ZERO))
        ],
    ),
    Misconception(
        "third_rank_ignored",
        "You compare two ranks, but there may be more. Compare the gradients and the steps of all.",
        _answers(GRADIENTS, f"{_differs_by(RANK_TWO)} or case.driver == 2"),
    ),
    Misconception(
        "gradients_read_too_early",
        "You read gradients before they are averaged, or do not compare them. Read them right before a step.",
        _answers(PARAMETERS, "method_of(case) in (GRADIENTS, DRIVER)"),
    ),
    Misconception(
        "driver_is_rank_zero",
        "You take rank 0 for the driver. Any rank may be: count the steps of each.",
        _answers(PARAMETERS, "method_of(case) == DRIVER and case.driver"),
        variants=[
            _answers(GRADIENTS, "method_of(case) == DRIVER and case.driver"),
            _answers(NOTHING, "method_of(case) == DRIVER and case.driver"),
        ],
    ),
    Misconception(
        "driver_not_seen",
        "You do not see that some ranks never step. Count the steps of each rank.",
        _answers(GRADIENTS, "method_of(case) == DRIVER"),
        variants=[_answers(PARAMETERS, "method_of(case) == DRIVER")],
    ),
    Misconception(
        "gradients_not_compared",
        "You find equal weights at the end, and do not compare the gradients. Where all ranks step with the same one, "
        "the weights agree, too.",
        _answers(PARAMETERS, "method_of(case) == GRADIENTS"),
    ),
    Misconception(
        "end_not_compared",
        "You do not compare the weights at the end where ranks step on gradients of their own. They say whether "
        "parameters are averaged.",
        _answers(PARAMETERS, "method_of(case) == NOTHING"),
        variants=[_answers(NOTHING, "method_of(case) == PARAMETERS")],
    ),
    hard_coded(method_cases),
    run=lambda answer_of, case: answer_of(case),
    cases=method_cases,
)
