"""Observations of lesson 04 reach the judge of a class as text, with infinities and NaN in their tensors."""

from __future__ import annotations

import pytest
import torch

from grader.judging.__main__ import answer
from grader.judging.lessons.number_formats.decoding import truth_of
from grader.judging.lessons.number_formats.losses import loss_of
from grader.judging.lessons.number_formats.rounding import truth_of as rounded_of
from grader.lessons.number_formats.decoding import decoding_cases
from grader.lessons.number_formats.rounding import loss_cases, rounding_cases
from grader.observation import Observation, encode_observation

SEED = 20011


def ask(check: str, observation: Observation) -> dict:
    return answer({"check": check, "seed": SEED, "observation": encode_observation(observation)})


def patterns() -> dict[str, torch.Tensor]:
    return {str(index): truth_of(one) for index, one in enumerate(decoding_cases(SEED))}


def test_values_with_infinities_and_nan_pass():
    decoded = ask("check_decoded_patterns", Observation(tensors=patterns()))
    assert decoded["verdict"]["code"] == "passed"
    rounded = {str(index): rounded_of(case) for index, case in enumerate(rounding_cases(SEED))}
    assert ask("check_rounded_values", Observation(tensors=rounded))["verdict"]["code"] == "passed"


@pytest.mark.parametrize("fill", [torch.nan, torch.inf])
def test_nothing_but_nan_or_infinity_fails(fill):
    filled = {name: torch.full_like(tensor, fill) for name, tensor in patterns().items()}
    assert ask("check_decoded_patterns", Observation(tensors=filled))["verdict"]["code"] == "one_value_for_all"


@pytest.mark.parametrize(
    ("check", "observation"),
    [
        ("check_decoded_patterns", Observation()),
        ("check_decoded_patterns", Observation(tensors={str(index): torch.zeros(3) for index in range(6)})),
        ("check_rounded_values", Observation(tensors={"0": torch.zeros(2)})),
        ("check_compensated_sum", Observation(tensors={"0.total": torch.zeros(8), "0.lost": torch.zeros(8)})),
        ("check_format_limits", Observation({"answers": [{"largest": float("nan")}]})),
        ("check_format_limits", Observation({"answers": [{"largest": "65504"}] * 5})),
        ("check_format_limits", Observation({"answers": []})),
        ("check_chosen_format", Observation({"chosen": ["x" * 5000] * 11})),
        ("check_chosen_format", Observation({"chosen": [["fp16"]] * 11})),
        ("check_lost_values", Observation({"named": [["nothing"]]})),
        ("check_lost_values", Observation({"named": [["<b>"] * 9] * 6})),
    ],
)
def test_what_no_check_writes_is_malformed(check, observation):
    assert "malformed" in ask(check, observation)


def test_words_pass():
    named = [[loss_of(value, case.bit_format) for value in case.values] for case in loss_cases(SEED)]
    assert ask("check_lost_values", Observation({"named": named}))["verdict"]["code"] == "passed"
