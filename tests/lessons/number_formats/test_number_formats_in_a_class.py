"""Observations of lesson 04 reach the judge of a class as text, with infinities and NaN in their tensors."""

from __future__ import annotations

import pytest
import torch

from grader.judging.__main__ import answer
from grader.judging.lessons.number_formats import decoding, rounding
from grader.lessons.number_formats.decoding import decoding_cases
from grader.observation import Observation, encode_observation

SEED = 20011


def ask(check: str, observation: Observation) -> dict:
    return answer({"check": check, "seed": SEED, "observation": encode_observation(observation)})


def test_values_with_infinities_and_nan_pass():
    patterns = {str(index): decoding.truth_of(one) for index, one in enumerate(decoding_cases(SEED))}
    assert ask("check_decoded_patterns", Observation(tensors=patterns))["verdict"]["code"] == "passed"
    values = enumerate(rounding.TABLE.truths(SEED))
    rounded = {str(index): torch.tensor(row, dtype=torch.float64) for index, row in values}
    assert ask("check_rounded_values", Observation(tensors=rounded))["verdict"]["code"] == "passed"


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
        ("check_moment_fate", Observation({"answers": ["<b>"] * 9})),
        ("check_moment_fate", Observation({"answers": ["frozen"]})),
        ("check_stochastic_rounding", Observation(tensors={"0": torch.zeros(300)})),
    ],
)
def test_what_no_check_writes_is_malformed(check, observation):
    assert "malformed" in ask(check, observation)
