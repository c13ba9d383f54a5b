"""Verdict on a function that tells whether all ranks hold the same weights."""

from __future__ import annotations

from collections.abc import Sequence

from grader.cases.data_parallel import AgreementCase, agreement_cases
from grader.judges.data_parallel.reports import Facts, bytes_of, facts_of
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LARGEST_SHARE = 0.01  # of the bytes of the parameters; two digests of 256 bytes are 0.4 % of the smallest model
_DIFFERENCES = {
    "one number": "one number differs by 1",
    "last number": "the last bias differs in its last bits",
    "swapped": "two numbers of a matrix are swapped",
    "negated": "a matrix has the other sign",
    "frozen": "a bias of the frozen layer differs",
}


def judge_data_parallel_agreement(observation: Observation, seed: int) -> Verdict:
    """Compare the answer of every rank with the truth, and the bytes that it cost."""
    groups = _groups(seed)
    answers: list[tuple[AgreementCase, list[object]]] = []
    for setting, cases in enumerate(groups):
        facts = facts_of(observation, setting, cases[0].world_size)
        for index, case in enumerate(cases):
            verdict = _judge_kind(case, [rank["answers"][index] for rank in facts]) or _judge_change(case, facts, index)
            if verdict:
                return verdict
            answers.append((case, [rank["answers"][index] for rank in facts]))
    return _judge_answers(answers) or _judge_bytes(observation, groups)


def _groups(seed: int) -> list[list[AgreementCase]]:
    cases = agreement_cases(seed)
    return [[case for case in cases if case.world_size == size] for size in sorted({c.world_size for c in cases})]


def _judge_kind(case: AgreementCase, answers: Sequence[object]) -> Verdict | None:
    for rank, answer in enumerate(answers):
        if not isinstance(answer, bool):
            code = "returned_none" if answer == "NoneType" else "no_truth_value"
            look_at = "the end of your function: does every rank return its answer?"
            return Verdict(code, "True or False on every rank", f"{answer} on rank {rank}", look_at)
    return None


def _judge_change(case: AgreementCase, facts: Sequence[Facts], index: int) -> Verdict | None:
    changed = [rank for rank, fact in enumerate(facts) if fact["changed"][index]]
    if not changed:
        return None
    measured = f"other weights on rank {changed[0]} after the call"
    look_at = "a collective writes into its tensor: which of yours is a parameter?"
    return Verdict("weights_changed", f"weights as they were ({_describe(case)})", measured, look_at)


def _judge_answers(answers: Sequence[tuple[AgreementCase, list[object]]]) -> Verdict | None:
    for case, seen in answers:
        if all(answer == case.is_equal for answer in seen):
            continue
        expected = f"{case.is_equal} on each of {case.world_size} ranks: {_describe(case)}"
        measured = f"{', '.join(map(str, seen))} on ranks 0 to {case.world_size - 1}"
        code, look_at = _explain(answers)
        return Verdict(code, expected, measured, look_at)
    return None


def _explain(answers: Sequence[tuple[AgreementCase, list[object]]]) -> tuple[str, str]:
    flat = [answer for _, seen in answers for answer in seen]
    different = [(case, seen) for case, seen in answers if not case.is_equal]
    if all(flat):
        return "always_true", "what your function compares: does anything of another rank reach it?"
    if not any(flat):
        return "always_false", "equal ranks: what differs between two digests of the same weights?"
    if not all(all(seen) for case, seen in answers if case.is_equal):
        return "equal_ranks_doubted", "equal ranks: what differs between two digests of the same weights?"
    missed = {case.kind for case, seen in different if all(seen)}
    told = {case.kind for case, seen in different if not any(seen)}
    some = [(case, seen) for case, seen in different if any(seen) and not all(seen)]
    if some and all(seen[0] for _, seen in some):
        return "rank_zero_not_told", "rank 0 compares itself with itself: who tells it what the others found?"
    if some and all(seen == [rank not in (0, case.odd_rank) for rank in range(case.world_size)] for case, seen in some):
        return "only_the_two_know", "the ranks between: who tells them what the others found?"
    if some:
        return "ranks_answer_differently", "the answer has to be the same on every rank: who tells whom?"
    for kinds, code, look_at in _KNOWN:
        if missed == kinds:
            return code, look_at
    names = ", ".join(_DIFFERENCES[kind] for kind in sorted(missed))
    return "differences_missed", f"differences that your digest does not show: {names or len(told)}"


_KNOWN = (
    (
        {"swapped", "last number"},
        "sum_compared",
        "a sum keeps its value when two numbers are swapped, and rounds small ones away",
    ),
    (
        {"swapped"},
        "order_forgotten",
        "a sum, or another value that forgets the order: use one that two numbers cannot swap in",
    ),
    (
        {"swapped", "negated"},
        "size_compared",
        "a norm, or another size: it knows neither signs nor the order of numbers",
    ),
    (
        {"swapped", "negated", "last number"},
        "size_compared_roughly",
        "a norm knows neither signs nor the order of numbers, and rounds small differences away",
    ),
    ({"last number"}, "tolerance_too_wide", "ranks that agree are equal to the last bit: no tolerance is needed"),
    ({"frozen"}, "frozen_left_out", "frozen parameters are weights too: do the ranks agree on them?"),
    ({"frozen", "last number"}, "biases_left_out", "biases are weights too: which parameters enter your digest?"),
    (
        {"one number", "last number", "swapped", "negated"},
        "first_parameters_only",
        "the last parameters: which of them enter your digest?",
    ),
)


def _judge_bytes(observation: Observation, groups: list[list[AgreementCase]]) -> Verdict:
    most, number = 0.0, 0
    for setting, cases in enumerate(groups):
        for rank, facts in enumerate(facts_of(observation, setting, cases[0].world_size)):
            for index, case in enumerate(cases):
                parameter_bytes = sum(parameter.nbytes for parameter in case.make_model(0).parameters())
                share = bytes_of(facts["calls"][index]) / parameter_bytes
                most, number = max(most, share), number + 1
                if share > LARGEST_SHARE:
                    expected = f"at most {LARGEST_SHARE:.0%} of the bytes of the parameters from rank {rank}"
                    look_at = "what a rank gives: a digest of its weights is enough, whatever their number"
                    return Verdict("weights_sent", expected, f"{share:.1%}", look_at)
    measured = f"{number} right answers, each for at most {most:.2%} of the bytes of the parameters"
    return Verdict(PASSED, "the same right answer on every rank", measured)


def _describe(case: AgreementCase) -> str:
    return "all ranks are equal" if case.is_equal else f"on rank {case.odd_rank}, {_DIFFERENCES[case.kind]}"
