"""Verdict on a decoder: every bit pattern of six formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import torch
from torch import Tensor

from grader.judging.lessons.number_formats.decoding_mistakes import LOOK_AT, RULES
from grader.judging.lessons.number_formats.patterns import Fields, decode_by, fields_of
from grader.judging.lessons.number_formats.wording import say_number, say_pattern
from grader.lessons.number_formats.bit_format import BF16, E4M3, E5M2, FP16, BitFormat
from grader.lessons.number_formats.decoding import decoding_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
TORCH_DTYPES = {
    FP16: (torch.int16, torch.float16),
    BF16: (torch.int16, torch.bfloat16),
    E5M2: (torch.uint8, torch.float8_e5m2),
    E4M3: (torch.uint8, torch.float8_e4m3fn),
}


@dataclass(frozen=True)
class Miss:
    """The patterns of one format that are decoded wrongly.

    Attributes:
        fields: The parts of every pattern.
        wrong: Whether a pattern is wrong.
        answer: What was decoded.
        truth: What the patterns stand for.
    """

    fields: Fields
    wrong: Tensor
    answer: Tensor
    truth: Tensor

    @property
    def is_below(self) -> bool:
        """Whether all wrong patterns have exponent 0."""
        return not bool((self.wrong & (self.fields.exponent > 0)).any())

    @property
    def is_at_top(self) -> bool:
        """Whether all wrong patterns have the top exponent."""
        return not bool((self.wrong & ~self.fields.top).any())

    @property
    def is_at_infinity(self) -> bool:
        """Whether all wrong patterns stand for an infinity."""
        return not bool((self.wrong & ~self.truth.isinf()).any())

    @property
    def is_near_top(self) -> bool:
        """Whether all wrong patterns have the top exponent or the one below it."""
        return not bool((self.wrong & (self.fields.exponent < 2**self.fields.bit_format.exponent_bits - 2)).any())

    @property
    def is_between(self) -> bool:
        """Whether every wrong pattern stands for a normal number."""
        is_special = self.fields.top & self.fields.bit_format.has_infinity
        return not bool((self.wrong & (is_special | (self.fields.exponent == 0))).any())


@cache
def truth_of(bit_format: BitFormat) -> Tensor:
    """Return what every pattern stands for: torch's own answer where torch has the format."""
    if bit_format not in TORCH_DTYPES:
        return decode_by(fields_of(bit_format), {})
    integers, floats = TORCH_DTYPES[bit_format]
    return torch.arange(bit_format.pattern_count).to(integers).view(floats).double()


def judge_decoded_patterns(observation: Observation, seed: int) -> Verdict:
    """Compare every pattern of every format, bit for bit; the first format with a miss is told."""
    formats = decoding_cases(seed)
    answers = [_answer(observation, index, bit_format) for index, bit_format in enumerate(formats)]
    misses = [_miss(bit_format, answer) for bit_format, answer in zip(formats, answers, strict=True)]
    for miss in misses:
        if bool(miss.wrong.any()):
            code, look_at = _explain(misses, seed)
            return Verdict(code, _say_expected(miss), _say_measured(miss), look_at)
    count = sum(bit_format.pattern_count for bit_format in formats)
    names = ", ".join(map(str, formats))
    return Verdict(PASSED, "", f"{count:,} bit patterns, all of the formats {names}")


def _answer(observation: Observation, index: int, bit_format: BitFormat) -> Tensor:
    values = observation.tensors[str(index)]
    if values.dtype != torch.float64 or values.shape != (bit_format.pattern_count,):
        raise ValueError(f"not one float64 number for each pattern of {bit_format}")
    return values


def _miss(bit_format: BitFormat, answer: Tensor) -> Miss:
    truth = truth_of(bit_format)
    return Miss(fields_of(bit_format), ~_same(answer, truth), answer, truth)


def _same(one: Tensor, other: Tensor) -> Tensor:
    """Whether values are equal: NaN is NaN, and a zero has a sign."""
    is_equal = (one == other) & (torch.signbit(one) == torch.signbit(other))
    return is_equal | (one.isnan() & other.isnan())


def _explain(misses: Sequence[Miss], seed: int) -> tuple[str, str]:
    """Name the rules that decode all formats as the learner does, or else where the wrong patterns lie."""
    place = _place(misses, seed)
    if not (code := _rules_of(misses, RULES)) and not (code := place):
        code = _rules_of(misses, _pairs()) or UNRECOGNISED
    return code, LOOK_AT[code]


def _rules_of(misses: Sequence[Miss], candidates: Sequence[tuple[str, Mapping[str, str]]]) -> str | None:
    """Name the rules that decode every pattern of all formats as the learner does."""
    smallest_first = sorted(misses, key=lambda miss: miss.fields.bit_format.pattern_count)
    for code, rules in candidates:
        if all(bool(_same(miss.answer, decode_by(miss.fields, rules)).all()) for miss in smallest_first):
            return code
    return None


def _place(misses: Sequence[Miss], seed: int) -> str | None:
    """Name the place of all wrong patterns, if they lie in one place."""
    wrong = [miss for miss in misses if bool(miss.wrong.any())]
    known = (*TORCH_DTYPES, *decoding_cases(VISIBLE_SEED)) if seed != VISIBLE_SEED else TORCH_DTYPES
    places = {
        "not_decoded": all(torch.equal(miss.answer, torch.arange(len(miss.answer)).double()) for miss in misses),
        "one_value_for_all": all(bool(_same(miss.answer, miss.answer[:1]).all()) for miss in misses),
        "known_formats_only": all(miss.fields.bit_format not in known for miss in wrong),
        "no_infinity_wrong": all(not miss.fields.bit_format.has_infinity and miss.is_at_top for miss in wrong),
        "sign_wrong": all(bool(_same(miss.answer.abs(), miss.truth.abs()).all()) for miss in wrong),
        "exponent_zero_wrong": all(miss.is_below for miss in wrong),
        "infinity_wrong": all(miss.is_at_infinity for miss in wrong),
        "top_of_ieee_wrong": all(miss.fields.bit_format.has_infinity and miss.is_at_top for miss in wrong),
        "top_exponent_wrong": all(miss.is_at_top for miss in wrong),
        "top_taken_one_too_low": all(miss.is_near_top for miss in wrong),
        "between_wrong": all(miss.is_between for miss in wrong),
    }
    return next((code for code, is_place in places.items() if is_place), None)


def _pairs() -> list[tuple[str, Mapping[str, str]]]:
    """Pairs of misconceptions that answer different questions, under the name of the first."""
    return [
        (code, {**first, **second})
        for (code, first), (_, second) in combinations(RULES, 2)
        if not first.keys() & second.keys()
    ]


def _first(miss: Miss) -> int:
    """Return the first wrong pattern, but for the two zeros where another one is wrong."""
    wrong = miss.wrong.nonzero().flatten()
    others = wrong[miss.truth[wrong] != 0]
    return int((others if len(others) else wrong)[0])


def _say_expected(miss: Miss) -> str:
    pattern = _first(miss)
    bit_format = miss.fields.bit_format
    return f"{bit_format} {say_pattern(pattern, bit_format)}: {say_number(float(miss.truth[pattern]))}"


def _say_measured(miss: Miss) -> str:
    pattern, bit_format = _first(miss), miss.fields.bit_format
    wrong = int(miss.wrong.sum())
    at_zero = int((miss.wrong & (miss.fields.exponent == 0)).sum())
    at_top = int((miss.wrong & miss.fields.top).sum())
    top = 2**bit_format.exponent_bits - 1
    places = f"{at_zero:,} at exponent 0, {at_top:,} at exponent {top}, {wrong - at_zero - at_top:,} between"
    counts = f"{wrong:,} of {bit_format.pattern_count:,} patterns of {bit_format} are wrong: {places}"
    return f"{say_number(float(miss.answer[pattern]))}; {counts}"
