"""Verdict on rounding to even: values at every place where a rule decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import torch
from torch import Tensor

from grader.judging.lessons.number_formats.rounding_mistakes import LOOK_AT, RULES, place_of
from grader.judging.lessons.number_formats.rounding_rules import round_by
from grader.judging.lessons.number_formats.wording import say_exactly
from grader.lessons.number_formats.bit_format import BitFormat
from grader.lessons.number_formats.rounding import LESSON_VALUES, RoundingCase, rounding_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
TORCH_FORMATS = 3  # the first of the cases


@dataclass(frozen=True)
class Wrong:
    """A value that is rounded wrongly.

    Attributes:
        bit_format: The format.
        value: The value.
        kind: What is special about it.
        answer: What the learner's function returns.
        truth: What it rounds to.
    """

    bit_format: BitFormat
    value: float
    kind: str
    answer: float
    truth: float


@cache
def truth_of(case: RoundingCase) -> Tensor:
    """Return the rounded values of a case, computed exactly."""
    return _by(case, {})


def judge_rounded_values(observation: Observation, seed: int) -> Verdict:
    """Compare every rounded value; the first miss is told, with what explains all of them."""
    cases = rounding_cases(seed)
    answers = [_answer(observation, index, case) for index, case in enumerate(cases)]
    wrong = [miss for case, answer in zip(cases, answers, strict=True) for miss in _misses(case, answer)]
    total = sum(len(case.values) for case in cases)
    if wrong:
        code = _explain(cases, answers, wrong)
        first = next((miss for miss in wrong if place_of(miss.kind) == code), wrong[0])
        expected = f"{say_exactly(first.value)} in {first.bit_format}, {first.kind}: {say_exactly(first.truth)}"
        measured = f"{say_exactly(first.answer)}; {len(wrong)} of {total} values are wrong"
        return Verdict(code, expected, measured, LOOK_AT[code])
    names = ", ".join(str(case.bit_format) for case in cases)
    return Verdict(PASSED, "", f"{total} values in the formats {names}; in fp16 65519 is 65504, and 65520 is inf")


def _answer(observation: Observation, index: int, case: RoundingCase) -> Tensor:
    values = observation.tensors[str(index)]
    if values.dtype != torch.float64 or values.shape != (len(case.values),):
        raise ValueError(f"not one float64 number for each value of {case.bit_format}")
    return values


def _by(case: RoundingCase, rules: Mapping[str, str]) -> Tensor:
    rounded = [round_by(value, case.bit_format, rules) for value in case.values]
    return torch.tensor(rounded, dtype=torch.float64)


def _is_by(case: RoundingCase, answer: Tensor, rules: Mapping[str, str]) -> bool:
    """Whether all answers follow from the rules; most rules fail at one of the first values."""
    return all(
        given == (rounded := round_by(value, case.bit_format, rules)) or (given != given and rounded != rounded)
        for value, given in zip(case.values, answer.tolist(), strict=True)
    )


def _same(one: Tensor, other: Tensor) -> Tensor:
    """Whether values are equal; NaN is NaN, and the sign of a zero does not count."""
    return (one == other) | (one.isnan() & other.isnan())


def _misses(case: RoundingCase, answer: Tensor) -> list[Wrong]:
    truth = truth_of(case)
    return [
        Wrong(case.bit_format, case.values[index], case.kinds[index], float(answer[index]), float(truth[index]))
        for index in (~_same(answer, truth)).nonzero().flatten().tolist()
    ]


def _explain(cases: Sequence[RoundingCase], answers: Sequence[Tensor], wrong: Sequence[Wrong]) -> str:
    """Name the rules that round as the learner does, or else where the wrong values lie."""
    if all(torch.equal(answer.nan_to_num(), _given(case)) for case, answer in zip(cases, answers, strict=True)):
        return "not_rounded"
    if all(_is_given_but_for_the_lesson(case, answer) for case, answer in zip(cases, answers, strict=True)):
        return "lesson_values_alone"
    for code, rules in _candidates():
        if all(_is_by(case, answer, rules) for case, answer in zip(cases, answers, strict=True)):
            return code
    for number, known in enumerate(cases[:2]):
        if all(
            bool(_same(answer, _by(RoundingCase(known.bit_format, case.values, case.kinds), {})).all())
            for case, answer in zip(cases, answers, strict=True)
        ):
            return ("fp16_for_all", "bf16_for_all")[number]
    seen = {case.bit_format for case in (*cases[:TORCH_FORMATS], *rounding_cases(VISIBLE_SEED))}
    if not any(miss.bit_format in seen for miss in wrong):
        return "known_formats_only"
    places = {place_of(miss.kind) for miss in wrong}
    return places.pop() if len(places) == 1 else UNRECOGNISED


def _given(case: RoundingCase) -> Tensor:
    return torch.tensor(case.values, dtype=torch.float64).nan_to_num()


def _is_given_but_for_the_lesson(case: RoundingCase, answer: Tensor) -> bool:
    of_lesson = torch.tensor([value in LESSON_VALUES for value in case.values])
    return bool((of_lesson | (answer.nan_to_num() == _given(case))).all())


def _candidates() -> list[tuple[str, Mapping[str, str]]]:
    """Misconceptions, then pairs of them that answer different questions, under the name of the first."""
    pairs = [
        (code, {**first, **second})
        for (code, first), (_, second) in combinations(RULES, 2)
        if not first.keys() & second.keys()
    ]
    return [*RULES, *pairs]
