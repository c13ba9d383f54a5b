"""Verdict on what a value loses when it is rounded to a format: range, precision, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from grader.cases.number_formats import FP16, LOSSES, BitFormat, RoundingCase, loss_cases
from grader.judges.number_formats.loss_mistakes import ALL_SAME, LOOK_AT, PLACES, RULES
from grader.judges.number_formats.rounding_mistakes import place_of
from grader.judges.number_formats.rounding_rules import round_by
from grader.judges.number_formats.wording import say_number
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen

Name = Callable[[float, BitFormat], str]
Named = Sequence[Sequence[str]]


def loss_of(value: float, bit_format: BitFormat) -> str:
    """Return what a value loses, from its rounded value."""
    rounded = round_by(value, bit_format, {})
    if rounded == value or math.isnan(value):
        return "nothing"
    return "range" if rounded == 0 or math.isinf(rounded) else "precision"


def judge_lost_values(observation: Observation, seed: int) -> Verdict:
    """Compare every word; the first miss is told, with what explains all of them."""
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
    becomes = say_number(round_by(value, case.bit_format, {}))
    where = f"{say_number(value)} in {case.bit_format}, {case.kinds[index]}, becomes {becomes}"
    expected = f'"{loss_of(value, case.bit_format)}": {where}'
    word = named[cases.index(case)][index]
    return Verdict(code, expected, f'"{word}"; {len(misses)} of {total} words are wrong', LOOK_AT[code])


def _simplicity(miss: tuple[RoundingCase, int]) -> tuple[bool, int]:
    """Order misses so that a positive value of few digits comes first."""
    case, index = miss
    return case.values[index] < 0, len(say_number(case.values[index]))


def name_by(value: float, bit_format: BitFormat, rules: Mapping[str, str]) -> str:
    """Name what a value loses by thresholds, right ones or others.

    Args:
        value: The value.
        bit_format: The format.
        rules: What to do otherwise than right, by the question; {} is right.
    """
    special = rules.get("special", "right")
    if math.isnan(value) or math.isinf(value):
        return "range" if special in ("infinity", "no_exception") and math.isinf(value) else "nothing"
    magnitude = abs(value)
    if not magnitude and special != "no_exception":
        return "range" if special == "zero" else "nothing"
    if _is_above(magnitude, bit_format, rules.get("top", "right")):
        return rules.get("top_word", "range")
    if _is_below(magnitude, bit_format, rules.get("bottom", "right")):
        return rules.get("bottom_word", "range")
    return _inside(value, bit_format, rules.get("inside", "right"))


def _is_above(magnitude: float, bit_format: BitFormat, rule: str) -> bool:
    power = 2.0 ** (bit_format.bias + 1)
    spacing = 2.0 ** (bit_format.bias - bit_format.mantissa_bits)
    is_above = {
        "right": magnitude >= power - spacing / 2,
        "half_way_kept": magnitude > power - spacing / 2,
        "largest": magnitude > power - spacing,
        "integer": magnitude > power - 1,
        "power": magnitude >= power,
        "of_fp16": magnitude > 65504,
        "published": magnitude > 65535,
        "never": False,
    }
    return is_above[rule]


def _is_below(magnitude: float, bit_format: BitFormat, rule: str) -> bool:
    normal = 2.0 ** (1 - bit_format.bias)
    smallest = normal * 2.0**-bit_format.mantissa_bits
    is_below = {
        "right": magnitude <= smallest / 2,
        "half_way_kept": magnitude < smallest / 2,
        "smallest": magnitude < smallest,
        "normal": magnitude < normal,
        "of_fp16": magnitude < 2.0**-14,
        "epsilon": magnitude < 2.0**-bit_format.mantissa_bits,
        "never": False,
    }
    return is_below[rule]


def _inside(value: float, bit_format: BitFormat, rule: str) -> str:
    """Say whether a value within the range is a number of the format."""
    if rule in ("nothing", "precision"):
        return rule
    lowest = 1 - bit_format.bias if rule == "right" else -2000
    exponent = max(math.frexp(value)[1] - 1, lowest)
    steps = math.ldexp(value, bit_format.mantissa_bits - exponent)
    return "nothing" if steps.is_integer() else "precision"


def _explain(cases: Sequence[RoundingCase], named: Named, misses: Sequence[tuple[RoundingCase, int]]) -> str:
    """Name the thresholds that lead to the words, or else where the wrong words lie."""
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
