"""Judges what a value loses when it is rounded to a format: range, precision, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from grader.judging.lessons.number_formats.loss_misconceptions import ALL_SAME, LOOK_AT, PLACES, RULES
from grader.judging.lessons.number_formats.loss_rules import loss_of, name_by
from grader.judging.lessons.number_formats.number_text import exact_text
from grader.judging.lessons.number_formats.rounding import place_of, rounded_in
from grader.judging.references import VISIBLE_SEED
from grader.lessons.number_formats.bit_format import FP16, BitFormat
from grader.lessons.number_formats.rounding import LOSSES, RoundingCase, loss_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

Name = Callable[[float, BitFormat], str]
Named = Sequence[Sequence[str]]


def judge_lost_values(observation: Observation, seed: int) -> Verdict:
    """Compare every word; report the first that is wrong, with what explains all of them."""
    cases, named = loss_cases(seed), observation.facts["named"]
    if not all(word in LOSSES for words in named for word in words):
        raise ValueError(f"a word that is none of {', '.join(LOSSES)}")
    misses = [
        (case, index)
        for case, words in zip(cases, named, strict=True)
        for index, (value, word) in enumerate(zip(case.values, words, strict=True))
        if word != loss_of(value, case.bit_format)
    ]
    total = sum(len(case.values) for case in cases)
    if not misses:
        return Verdict(PASSED, "", f"{total} values in the formats {', '.join(str(case.bit_format) for case in cases)}")
    code = _explain(cases, named, misses)
    case, index = min(misses, key=_simplicity)
    value = case.values[index]
    becomes = exact_text(rounded_in(case.bit_format, value))
    where = f"{exact_text(value)} in {case.bit_format}, {case.kinds[index]}, becomes {becomes}"
    expected = f'"{loss_of(value, case.bit_format)}": {where}'
    word = named[cases.index(case)][index]
    return Verdict(code, expected, f'"{word}"; {len(misses)} of {total} words are wrong', LOOK_AT[code])


def _simplicity(miss: tuple[RoundingCase, int]) -> tuple[bool, int]:
    """Order misses so that a positive value of few digits comes first."""
    case, index = miss
    return case.values[index] < 0, len(exact_text(case.values[index]))


def _explain(cases: Sequence[RoundingCase], named: Named, misses: Sequence[tuple[RoundingCase, int]]) -> str:
    """Name the thresholds that lead to the words, or else the place of the wrong words."""
    words = {word for row in named for word in row}
    if len(words) == 1:
        return ALL_SAME
    for code, rules in _candidates():
        if _agrees(cases, named, lambda value, bit_format, rules=rules: name_by(value, bit_format, rules)):  # type: ignore[misc]
            return code
    if _agrees(cases, named, lambda value, bit_format: loss_of(value, FP16)):
        return "fp16_assumed"
    visible = [[loss_of(value, case.bit_format) for value in case.values] for case in loss_cases(VISIBLE_SEED)]
    if list(map(list, named)) == visible:
        return "visible_case_hard_coded"
    places = {PLACES.get(place_of(case.kinds[index]), UNRECOGNISED) for case, index in misses}
    return places.pop() if len(places) == 1 else UNRECOGNISED


def _agrees(cases: Sequence[RoundingCase], named: Named, name: Name) -> bool:
    return all(
        word == name(value, case.bit_format)
        for case, words in zip(cases, named, strict=True)
        for value, word in zip(case.values, words, strict=True)
    )


def _candidates() -> list[tuple[str, Mapping[str, str]]]:
    """Misconceptions, then pairs of them that answer different questions, under the name of the first."""
    pairs = [
        (code, {**first, **second})
        for (code, first), (_, second) in combinations(RULES, 2)
        if not first.keys() & second.keys()
    ]
    return [*RULES, *pairs]
