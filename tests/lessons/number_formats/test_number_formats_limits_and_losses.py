"""The judges of the limits of a format and of what a value loses name every misconception."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from number_format_answers import SEEDS

from grader.judging.lessons.number_formats.limits import judge_format_limits
from grader.judging.lessons.number_formats.limits_joint import JOINT
from grader.judging.lessons.number_formats.limits_mistakes import MISTAKES
from grader.judging.lessons.number_formats.limits_truth import limits_of
from grader.judging.lessons.number_formats.loss_mistakes import RULES
from grader.judging.lessons.number_formats.loss_rules import loss_of, name_by
from grader.judging.lessons.number_formats.losses import judge_lost_values
from grader.lessons.number_formats.bit_format import BF16, E5M2, FP16, BitFormat
from grader.lessons.number_formats.limits import LIMITS, LimitsCase, limits_cases
from grader.lessons.number_formats.rounding import loss_cases
from grader.observation import Observation
from grader.verdict import UNRECOGNISED, Verdict

DTYPES = {FP16: torch.float16, BF16: torch.bfloat16, E5M2: torch.float8_e5m2, BitFormat(8, 23): torch.float32}
OF_ONE_KEY = [(key, mistake) for key, mistakes in MISTAKES.items() for mistake in mistakes]


def judge_limits(seed: int, answer: Callable[[LimitsCase], dict[str, float]]) -> Verdict:
    return judge_format_limits(Observation({"answers": [answer(case) for case in limits_cases(seed)]}), seed)


@pytest.mark.parametrize("bit_format", DTYPES, ids=str)
def test_the_limits_are_those_of_torch(bit_format):
    info = torch.finfo(DTYPES[bit_format])
    limits = limits_of(LimitsCase(bit_format, 1.0, "one"))
    smallest = torch.tensor(1).to({8: torch.uint8, 16: torch.int16, 32: torch.int32}[info.bits])
    assert limits["largest"] == info.max
    assert limits["smallest_normal"] == info.smallest_normal
    assert limits["spacing"] == info.eps
    assert limits["smallest_subnormal"] == smallest.view(DTYPES[bit_format]).double().item()


@pytest.mark.parametrize("number", [2.0**-20, 2.0**-14, 0.1, 1.0, 1.5, 2048.0, 60000.0])
def test_the_spacing_is_the_distance_of_torchs_neighbours(number):
    value = torch.tensor(number, dtype=torch.float16)
    pattern = value.view(torch.int16)
    above = (pattern + 1).view(torch.float16)
    limits = limits_of(LimitsCase(FP16, value.item(), "a number of fp16"))
    assert limits["spacing"] == above.double().item() - value.double().item()


@pytest.mark.parametrize("seed", range(20))
def test_right_limits_pass(seed):
    assert judge_limits(seed, limits_of).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("key", "mistake"), OF_ONE_KEY, ids=lambda part: getattr(part, "code", part))
def test_every_wrong_limit_is_named(key, mistake, seed):
    assert judge_limits(seed, lambda case: limits_of(case) | {key: mistake.yields(case)}).code == mistake.code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "look_at", "yields"), JOINT, ids=lambda part: part if isinstance(part, str) else "")
def test_every_misconception_of_several_limits_is_named(code, look_at, yields, seed):
    assert judge_limits(seed, lambda case: limits_of(case) | dict(yields(case))).code == code


def test_limits_of_the_visible_formats_are_named_on_others():
    seen = dict(zip(limits_cases(20011), limits_cases(0), strict=True))
    assert judge_limits(20011, lambda case: limits_of(seen[case])).code == "visible_case_hard_coded"


def test_unexplained_limits_are_not_given_a_name():
    assert judge_limits(0, lambda case: dict.fromkeys(LIMITS, 1.25)).code == UNRECOGNISED


def test_a_spacing_that_is_wrong_in_places_is_told_where():
    def answer(case):
        is_far = case.number > 4
        return limits_of(case) | ({"spacing": 17.0} if is_far else {})

    verdict = judge_limits(0, answer)
    assert verdict.code == "spacing_wrong_in_places"
    assert "a number above one" in verdict.look_at


def judge_losses(seed: int, name: Callable[[float, BitFormat], str]) -> Verdict:
    named = [[name(value, case.bit_format) for value in case.values] for case in loss_cases(seed)]
    return judge_lost_values(Observation({"named": named}), seed)


@pytest.mark.parametrize("seed", range(20))
def test_thresholds_and_rounding_agree_on_what_is_lost(seed):
    assert judge_losses(seed, lambda value, bit_format: name_by(value, bit_format, {})).is_passed
    assert judge_losses(seed, loss_of).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "rules"), RULES)
def test_every_wrong_threshold_is_named(code, rules, seed):
    assert judge_losses(seed, lambda value, bit_format: name_by(value, bit_format, rules)).code == code


@pytest.mark.parametrize(
    ("value", "lost"),
    [(65519.0, "precision"), (65520.0, "range"), (2.0**-24, "nothing"), (2.0**-25, "range"), (0.1, "precision")],
)
def test_what_the_values_of_the_lesson_lose(value, lost):
    assert loss_of(value, FP16) == lost


def test_one_word_for_all_and_words_of_the_visible_case_fail():
    assert judge_losses(0, lambda value, bit_format: "precision").code == "one_word_for_all"
    seen = iter([loss_of(value, case.bit_format) for case in loss_cases(0) for value in case.values])
    assert judge_losses(20011, lambda value, bit_format: next(seen)).code == "visible_case_hard_coded"
