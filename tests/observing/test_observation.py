from __future__ import annotations

import base64
import json
import math
import pickle

import pytest
import torch

from grader.observation import Observation, decode_observation, encode_observation


def test_facts_and_tensors_come_back_as_they_were() -> None:
    shared = torch.arange(6.0).reshape(2, 3)
    tensors = {
        "gradient": torch.tensor([1.5, float("nan"), float("-inf")]),
        "half": torch.ones(2, dtype=torch.bfloat16),
        "columns": shared.t(),
        "row": shared[1],
        "none": torch.zeros(0),
    }
    facts = {"events": ["forward"], "bytes": 2**40, "loss": 0.1, "nested": {"is_right": True, "nothing": None}}
    decoded = decode_observation(encode_observation(Observation(facts, tensors)))
    assert decoded.facts == facts
    for name, tensor in tensors.items():
        assert torch.equal(decoded.tensors[name].nan_to_num(), tensor.nan_to_num())
        assert decoded.tensors[name].dtype == tensor.dtype


def test_numbers_that_are_not_finite_pass_as_strict_json() -> None:
    text = encode_observation(Observation({"losses": [math.nan, math.inf, -math.inf]}))
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    losses = decode_observation(text).facts["losses"]
    assert math.isnan(losses[0])
    assert losses[1:] == [math.inf, -math.inf]


def test_a_tensor_leaves_its_graph_behind() -> None:
    value = torch.ones(2, requires_grad=True) * 2
    assert not decode_observation(encode_observation(Observation({}, {"value": value}))).tensors["value"].requires_grad


class Exploding:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("a pickle was loaded",)


def document(**changed: object) -> str:
    return json.dumps(json.loads(encode_observation(Observation())) | changed)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "half of it {",
        "[]",
        "{}",
        document(verdict="passed"),
        document(facts=[]),
        document(safetensors=7),
        document(safetensors="not base64!"),
        document(safetensors=base64.b64encode(pickle.dumps(Exploding())).decode()),
    ],
)
def test_what_is_no_observation_is_refused_and_nothing_in_it_runs(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_observation(text)
