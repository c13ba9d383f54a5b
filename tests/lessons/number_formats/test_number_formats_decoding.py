"""The judge of the decoder knows every pattern, and names each misconception by the patterns that it gets wrong."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from number_format_answers import SEEDS, observe

from grader.judging.lessons.number_formats.decoding import judge_decoded_patterns, truth_of
from grader.judging.lessons.number_formats.decoding_mistakes import LOOK_AT, RULES
from grader.judging.lessons.number_formats.patterns import decode_by, fields_of
from grader.lessons.number_formats.bit_format import BF16, E4M3, E5M2, FP16
from grader.lessons.number_formats.decoding import decoding_cases
from grader.verdict import UNRECOGNISED, Verdict


def judge(rules: Mapping[str, str], seed: int = 0) -> Verdict:
    formats = decoding_cases(seed)
    return judge_decoded_patterns(observe([decode_by(fields_of(one), rules) for one in formats]), seed)


def wrong_patterns(bit_format, rules: Mapping[str, str]) -> int:
    truth, answer = truth_of(bit_format), decode_by(fields_of(bit_format), rules)
    return int((~((truth == answer) | (truth.isnan() & answer.isnan()))).sum())


@pytest.mark.parametrize("bit_format", [FP16, BF16, E5M2, E4M3], ids=str)
def test_the_rules_decode_every_pattern_as_torch_does(bit_format):
    ours, torchs = decode_by(fields_of(bit_format), {}), truth_of(bit_format)
    assert torch.equal(ours.nan_to_num(nan=7.5), torchs.nan_to_num(nan=7.5))
    assert torch.equal(ours.signbit() | ours.isnan(), torchs.signbit() | torchs.isnan())


def test_fp16_is_as_numpy_has_it():
    numpys = torch.from_numpy(np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64))
    assert torch.equal(truth_of(FP16).nan_to_num(nan=7.5), numpys.nan_to_num(nan=7.5))


@pytest.mark.parametrize("seed", range(20))
def test_right_values_pass(seed):
    assert judge({}, seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "rules"), RULES)
def test_every_misconception_is_named(code, rules, seed):
    assert judge(rules, seed).code == code
    assert LOOK_AT[code]


@pytest.mark.parametrize(
    ("bit_format", "rules", "count"),
    [
        (FP16, {"below": "implicit_one"}, 2048),
        (FP16, {"below": "exponent_zero"}, 2046),
        (FP16, {"top": "ordinary"}, 2048),
        (FP16, {"bias": "too_large"}, 63_486),
        (E4M3, {"finite": "ieee"}, 14),
        (E4M3, {"finite": "ordinary"}, 2),
    ],
)
def test_the_signatures_are_counts_of_wrong_patterns(bit_format, rules, count):
    assert wrong_patterns(bit_format, rules) == count


def test_a_miss_says_how_many_patterns_are_wrong_and_where():
    verdict = judge({"below": "implicit_one"})
    assert "2,048 of 65,536 patterns of fp16 are wrong: 2,048 at exponent 0, 0 at exponent 31, 0 between" in (
        verdict.measured
    )
    verdict = judge({"finite": "ieee"})
    assert verdict.expected == "e4m3 0 1111 000: 256"
    assert "14 of 256 patterns of e4m3 are wrong" in verdict.measured


def test_two_misconceptions_are_named_by_one_of_them():
    assert judge({"below": "flushed", "finite": "ieee"}).code == "subnormals_flushed"


def test_patterns_that_no_rule_explains_are_named_by_their_place():
    formats = decoding_cases(0)
    answers = [truth_of(one).clone() for one in formats]
    answers[0][5] = 1.0
    assert judge_decoded_patterns(observe(answers), 0).code == "exponent_zero_wrong"
    answers[0][40_000] = 1.0
    assert judge_decoded_patterns(observe(answers), 0).code == UNRECOGNISED


def test_formats_that_were_never_seen_are_told_apart():
    answers = [truth_of(one).clone() for one in decoding_cases(20011)]
    answers[-1] = answers[-1] * 2
    assert judge_decoded_patterns(observe(answers), 20011).code == "known_formats_only"


@pytest.mark.parametrize("fill", [torch.nan, torch.inf, 0.0])
def test_one_value_for_all_patterns_fails(fill):
    answers = [torch.full_like(truth_of(one), fill) for one in decoding_cases(0)]
    assert judge_decoded_patterns(observe(answers), 0).code == "one_value_for_all"


def test_a_zero_has_a_sign():
    answers = [truth_of(one) + 0.0 for one in decoding_cases(0)]
    assert judge_decoded_patterns(observe(answers), 0).code == "sign_lost_at_zero"


@pytest.mark.parametrize("change", [lambda t: t[:-1], lambda t: t.float(), lambda t: t.unsqueeze(0)])
def test_tensors_that_the_check_never_writes_are_refused(change):
    answers = [change(truth_of(one)) for one in decoding_cases(0)]
    with pytest.raises(ValueError, match="not one float64 number"):
        judge_decoded_patterns(observe(answers), 0)
