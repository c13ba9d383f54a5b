"""Verdict on a function that tells whether all ranks hold the same weights."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.data_parallel.agreement_causes import (
    OF_NUMBERS,
    PARAMETER_NAMES,
    SMALLEST_DIGEST_BITS,
    Answer,
    Sent,
    explain_answers,
    explain_short_digest,
    is_equal,
)
from grader.judging.lessons.data_parallel.reports import Facts, bytes_of, facts_of
from grader.lessons.data_parallel.agreement import EQUAL, PLACES, AgreementCase, agreement_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LARGEST_SHARE = 0.01  # of the bytes of the parameters; two digests of 256 bytes are 0.4 % of the smallest model
_DIFFERENCES = {
    "first number": "the first number of all differs",
    "last number": "the last number of a matrix differs",
    "last bits": "one number differs in its last bits",
    "swapped": "two numbers of a matrix are swapped",
    "negated": "a matrix has the other sign",
    "exchanged": "two matrices are exchanged",
    "negative zero": "one number is -0, and 0 on the others",
    "not a number": "one number is NaN, and 0 on the others",
}


def judge_data_parallel_agreement(observation: Observation, seed: int) -> Verdict:
    """Compare the answer of every rank with the truth, and the bytes that it cost."""
    groups = _groups(seed)
    answers: list[Answer] = []
    reports = []
    for setting, cases in enumerate(groups):
        facts = facts_of(observation, setting, cases[0].world_size)
        reports += facts
        for index, case in enumerate(cases):
            verdict = _judge_kind(case, [rank["answers"][index] for rank in facts]) or _judge_change(case, facts, index)
            if verdict:
                return verdict
            answers.append(Answer(case, [rank["answers"][index] for rank in facts]))
    sent = Sent(
        min(len(calls) for facts in reports for calls in facts["calls"]),
        max(int(facts["varying_bits"]) for facts in reports),
        sorted({str(name) for facts in reports for name in facts["salted"]}),
        sorted({str(name) for facts in reports for name in facts["formats"]}),
    )
    wrong, costs = _judge_answers(answers, sent), _judge_bytes(observation, groups)
    if wrong and (costs.is_passed or wrong.code not in OF_NUMBERS):
        return wrong
    return _judge_digest(sent) or costs


def _groups(seed: int) -> list[list[AgreementCase]]:
    cases = agreement_cases(seed)
    return [[case for case in cases if case.world_size == size] for size in sorted({c.world_size for c in cases})]


def _judge_kind(case: AgreementCase, answers: Sequence[object]) -> Verdict | None:
    for rank, answer in enumerate(answers):
        if not isinstance(answer, bool):
            code = "returned_none" if answer == "NoneType" else "no_truth_value"
            look_at = "the end of your function: does every rank return its answer?"
            if code == "no_truth_value":
                look_at = "what your function returns: bool(...) makes True or False of a number or a tensor of one"
            return Verdict(code, "True or False on every rank", f"{answer} on rank {rank}", look_at)
    return None


def _judge_change(case: AgreementCase, facts: Sequence[Facts], index: int) -> Verdict | None:
    for part, (code, expected, measured, look_at) in enumerate(_CHANGES):
        changed = [rank for rank, fact in enumerate(facts) if fact["changed"][index][part]]
        if changed:
            return Verdict(code, f"{expected} ({_describe(case)})", f"{measured} on rank {changed[0]}", look_at)
    return None


_CHANGES = (
    (
        "weights_changed",
        "weights as they were",
        "other weights after the call",
        "a collective writes into its tensor: which of yours is a parameter?",
    ),
    (
        "trained_parameters_changed",
        "frozen and trained parameters as they were",
        "another requires_grad after the call",
        "requires_grad_: detach() gives a tensor without a graph, and leaves the model alone",
    ),
    (
        "gradients_changed",
        "gradients as they were",
        "another .grad after the call",
        "a test of weights leaves .grad as it is",
    ),
)


def _judge_answers(answers: Sequence[Answer], sent: Sent) -> Verdict | None:
    wrong = [answer for answer in answers if not answer.is_right]
    if not wrong:
        return None
    case, seen = min(wrong, key=lambda answer: answer.has_nan)  # the first without a NaN, if there is one
    expected = f"{is_equal(case)} on each of {case.world_size} ranks: {_describe(case)}"
    measured = f"{', '.join(map(str, seen))} on ranks 0 to {case.world_size - 1}"
    code, look_at = explain_answers(answers, sent)
    return Verdict(code, expected, measured, look_at)


def _judge_digest(sent: Sent) -> Verdict | None:
    if not 0 < sent.varying_bits < SMALLEST_DIGEST_BITS:
        return None
    measured = f"{sent.varying_bits} bits that change with the weights"
    code, look_at = explain_short_digest(sent)
    return Verdict(code, f"a digest of {SMALLEST_DIGEST_BITS} bits or more", measured, look_at)


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
    if is_equal(case):
        return "all ranks are equal" if case.kind == EQUAL else "all ranks are equal, and hold a NaN"
    difference = _DIFFERENCES.get(case.kind) or f"one number of {PARAMETER_NAMES[PLACES[case.kind][0]]} differs"
    return f"on rank {case.odd_rank}, {difference}"
