"""The judge of rounding to even is exact, and names each misconception by the values that it gets wrong."""

from __future__ import annotations

import math

import pytest
import torch
from number_format_answers import SEEDS, rounded

from grader.judging.lessons.number_formats.rounding import judge_rounded_values
from grader.judging.lessons.number_formats.rounding_mistakes import LOOK_AT, RULES
from grader.judging.lessons.number_formats.rounding_rules import round_by
from grader.lessons.number_formats.bit_format import BF16, E5M2, FP16, BitFormat
from grader.lessons.number_formats.rounding import LESSON_VALUES, rounding_cases
from grader.verdict import UNRECOGNISED, Verdict

DTYPES = {FP16: torch.float16, BF16: torch.bfloat16, E5M2: torch.float8_e5m2}
TF32 = BitFormat(8, 10)


def judge(way, seed: int = 0) -> Verdict:
    return judge_rounded_values(rounded(rounding_cases(seed), way), seed)


@pytest.mark.parametrize("bit_format", DTYPES, ids=str)
def test_values_of_fp32_are_rounded_as_torch_does(bit_format):
    generator = torch.Generator().manual_seed(0)
    exponents = torch.randint(-45, 45, (4000,), generator=generator).float()
    values = torch.randn(4000, generator=generator) * exponents.exp2()
    case = next(one for one in rounding_cases(0) if one.bit_format == bit_format)
    values = torch.cat([values, torch.tensor(case.values).nan_to_num(nan=1.0)])
    ours = torch.tensor([round_by(value, bit_format, {}) for value in values.tolist()], dtype=torch.float64)
    assert torch.equal(ours, values.to(DTYPES[bit_format]).double())


@pytest.mark.parametrize(
    ("value", "bit_format", "result"),
    [
        (65519.0, FP16, 65504.0),
        (65519.99999999, FP16, 65504.0),
        (65520.0, FP16, math.inf),
        (-65520.0, FP16, -math.inf),
        (2049.0, FP16, 2048.0),
        (2051.0, FP16, 2052.0),
        (2.0**-24, FP16, 2.0**-24),
        (2.0**-25, FP16, 0.0),
        (2.0**-25 * (1 + 2.0**-30), FP16, 2.0**-24),
        (1 + 2.0**-11, FP16, 1.0),
        (1 + 2.0**-11 + 2.0**-40, FP16, 1 + 2.0**-10),
        (1 + 2.0**-8, BF16, 1.0),
        (1 + 2.0**-11, TF32, 1.0),
    ],
)
def test_the_numbers_of_the_lesson(value, bit_format, result):
    assert round_by(value, bit_format, {}) == result


@pytest.mark.parametrize("seed", range(20))
def test_right_values_pass(seed):
    assert judge(lambda value, case: round_by(value, case.bit_format, {}), seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "rules"), RULES)
def test_every_misconception_is_named(code, rules, seed):
    assert judge(lambda value, case: round_by(value, case.bit_format, rules), seed).code == code
    assert LOOK_AT[code]


def test_the_first_miss_is_told_with_its_values():
    verdict = judge(lambda value, case: round_by(value, case.bit_format, {"ties": "away"}))
    assert (verdict.code, verdict.expected) == ("half_up", "2,049 in fp16, a value of the lesson: 2,048")
    assert verdict.measured.startswith("2,050; ")
    cut = judge(lambda value, case: round_by(value, case.bit_format, {"ties": "cut"}))
    assert cut.code == "truncated"


def test_truncation_leaves_65520_finite():
    assert round_by(65520.0, FP16, {"ties": "cut"}) == 65504.0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("bit_format", "code"), [(FP16, "fp16_for_all"), (BF16, "bf16_for_all")])
def test_one_format_for_all_is_named(bit_format, code, seed):
    assert judge(lambda value, case: round_by(value, bit_format, {}), seed).code == code


def test_other_misses_are_named_by_their_place():
    def way(value, case):
        return math.inf if value == 65519.0 else round_by(value, case.bit_format, {})

    assert judge(way).code == "wrong_normal"
    assert judge(lambda value, case: 1.0).code == UNRECOGNISED


def test_a_table_of_the_lessons_values_is_told_so():
    def look_up(value, case):
        return round_by(value, FP16, {}) if value in LESSON_VALUES else value

    assert judge(look_up).code == "lesson_values_alone"


@pytest.mark.parametrize("fill", [math.nan, math.inf, 0.0])
def test_one_value_for_all_fails(fill):
    assert not judge(lambda value, case: fill).is_passed


def test_nan_has_to_stay_nan():
    verdict = judge(lambda value, case: 0.0 if value != value else round_by(value, case.bit_format, {}))
    assert verdict.code == "wrong_special"


def test_the_sign_of_a_zero_does_not_count():
    assert judge(lambda value, case: abs(r) if (r := round_by(value, case.bit_format, {})) == 0 else r).is_passed
