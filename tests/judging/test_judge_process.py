"""The judges' own process reads what anybody may have written: bombs end as malformed, and soon."""

from __future__ import annotations

import base64
import json
import math
import struct
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from safetensors.torch import save

import grader
from grader.channel import LARGEST_OBSERVATION_BYTES
from grader.judging.__main__ import answer
from grader.judging.lessons.gradient_accumulation import peak
from grader.judging.lessons.gradient_accumulation.micro_batch_size import fitting
from grader.lessons.gradient_accumulation.micro_batch_size import fit_cases
from grader.lessons.gradient_accumulation.peak import peak_cases
from grader.observation import Observation, decode_observation, encode_observation
from grader.registry import is_check, judge_of
from grader.units import MIB

SEED = 20011
SIZES, PEAKS = "check_largest_micro_batch", "check_predicted_peak"


def ask(text: str, check: str = SIZES, seed: int = SEED) -> dict[str, Any]:
    return answer({"check": check, "seed": seed, "observation": text})


@cache
def right_sizes() -> Observation:
    chosen = [max(fitting(case)) if fitting(case) else None for case in fit_cases(SEED)]
    return Observation({"chosen": chosen, "reasons": ["nothing fits"]})


def document(facts: str = "{}", packed: bytes | str = b"\x02\0\0\0\0\0\0\0{}") -> str:
    text = packed if isinstance(packed, str) else base64.b64encode(packed).decode()
    return f'{{"facts": {facts}, "safetensors": "{text}"}}'


def tensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(shape: list[int], end: int = 0, kind: str = "F32", begin: int = 0) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


BOMBS = {
    "deep lists": lambda: document('{"a": ' + 40_000 * "[" + 40_000 * "]" + "}"),
    "deep objects": lambda: document(30_000 * '{"a": ' + "1" + 30_000 * "}"),
    "twenty levels": lambda: document('{"a": ' + 20 * "[" + 20 * "]" + "}"),
    "unclosed lists": lambda: 8 * MIB * "[",
    "huge integer": lambda: document('{"a": ' + 5000 * "9" + "}"),
    "integer beyond 64 bits": lambda: document('{"a": 9223372036854775809}'),
    "huge float": lambda: document('{"a": 1e999}'),
    "NaN": lambda: document('{"a": NaN}'),
    "NaN as a key": lambda: document("{NaN: 1}"),
    "wrong non-finite": lambda: document('{"a": {"non_finite": ["NaN"]}}'),
    "repeated key": lambda: document('{"chosen": 1, "chosen": 2}'),
    "repeated top key": lambda: '{"facts": {}, "facts": {}, "safetensors": ""}',
    "a million numbers": lambda: document('{"a": [' + 1_000_000 * "0," + "0]}"),
    "a million lists": lambda: document('{"a": [' + 1_000_000 * "[]," + "0]}"),
    "long text": lambda: document('{"a": "' + 4 * MIB * "x" + '"}'),
    "long key": lambda: document('{"' + 4 * MIB * "x" + '": 1}'),
    "too long": lambda: document('{"a": "' + LARGEST_OBSERVATION_BYTES * "x" + '"}'),
    "no base64": lambda: document(packed="x" * 1001),
    "no header": lambda: document(packed=b""),
    "header beyond the end": lambda: document(packed=tensors({}, length=10**9)),
    "header of all bytes": lambda: document(packed=tensors({}, length=2**64 - 1)),
    "header that is a list": lambda: document(packed=tensors([1])),
    "large header": lambda: document(packed=tensors({f"tensor {n}": entry([0]) for n in range(30_000)})),
    "many tensors": lambda: document(packed=tensors({f"{n}": entry([0]) for n in range(5000)})),
    "repeated tensor": lambda: document(packed=tensors('{"a": %s, "a": %s}' % (2 * (json.dumps(entry([0])),)))),
    "huge shape": lambda: document(packed=tensors({"a": entry([2**40, 2**20], 4)}, bytes(4))),
    "huge empty shape": lambda: document(packed=tensors({"a": entry([2**62, 0])})),
    "overflowing shape": lambda: document(packed=tensors({"a": entry([2**32, 2**32], 0)})),
    "negative shape": lambda: document(packed=tensors({"a": entry([-1, -1], 4)}, bytes(4))),
    "shape of truth values": lambda: document(packed=tensors({"a": {**entry([], 4), "shape": [True]}}, bytes(4))),
    "many dimensions": lambda: document(packed=tensors({"a": entry(100 * [1], 4)}, bytes(4))),
    "offsets beyond the end": lambda: document(packed=tensors({"a": entry([2**20], 2**22)}, bytes(4))),
    "overlapping tensors": lambda: document(packed=tensors({n: entry([1], 4) for n in "ab"}, bytes(4))),
    "unknown type": lambda: document(packed=tensors({"a": entry([1], 4, "PICKLE")}, bytes(4))),
    "small floats": lambda: document(packed=tensors({"a": entry([4], 4, "F8_E4M3")}, bytes(4))),
    "complex numbers": lambda: document(packed=tensors({"a": entry([1], 8, "C64")}, bytes(8))),
    "metadata": lambda: document(packed=tensors({"__metadata__": {"a": "b"}})),
    "no object": lambda: "3",
    "no text": lambda: {"facts": {}, "safetensors": ""},
    "lone surrogate": lambda: document('{"a": 1}', "\\ud800"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_malformed_soon_and_fills_no_memory(name: str) -> None:
    text = BOMBS[name]()
    tracemalloc.start()
    started = time.process_time()
    said = ask(text)
    seconds, (_, most_bytes) = time.process_time() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert set(said) == {"malformed"}, said
    assert seconds < 2
    assert most_bytes < 100 * MIB


def test_a_right_observation_passes_and_a_wrong_one_is_told() -> None:
    assert ask(encode_observation(right_sizes()))["verdict"]["code"] == "passed"
    ones = Observation({"chosen": [1] * 7, "reasons": []})
    said = ask(encode_observation(ones))
    assert said["verdict"]["code"] not in ("passed", "unrecognised")
    assert set(said["verdict"]) == {"code", "expected", "measured", "look_at"}
    assert ask(encode_observation(right_sizes()), seed=0)["verdict"]["code"] != "passed"


PREDICTED = peak.TABLE.truths(SEED)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "1", [], {}, True, -1, 10**30])
def test_no_number_of_a_right_observation_can_be_anything_else(monkeypatch: pytest.MonkeyPatch, value: object) -> None:
    monkeypatch.setattr(peak, "_true_peak", dict(zip(peak_cases(SEED), PREDICTED, strict=True)).get)
    assert ask(encode_observation(Observation({"predicted_bytes": PREDICTED})), PEAKS)["verdict"]["code"] == "passed"
    for place in range(len(PREDICTED)):
        changed = [value if index == place else number for index, number in enumerate(PREDICTED)]
        said = ask(encode_observation(Observation({"predicted_bytes": changed})), PEAKS)
        assert said.get("verdict", {}).get("code") != "passed"
    said = ask(encode_observation(Observation({"predicted_bytes": value})), PEAKS)
    assert said.get("verdict", {}).get("code") != "passed"


@pytest.mark.parametrize(
    "facts",
    [{}, {"chosen": []}, {"chosen": [1, 2]}, {"chosen": {"0": 1}}, {"chosen": None, "reasons": []}],
)
def test_an_observation_that_lacks_a_part_is_malformed(facts: dict[str, Any]) -> None:
    assert set(ask(encode_observation(Observation(facts)))) == {"malformed"}


@pytest.mark.parametrize(
    "claim",
    [
        {"peak_bytes": -1, "above_entry_bytes": -1, "device": "cpu"},
        {"peak_bytes": 1, "above_entry_bytes": 2, "device": "cpu"},
        {"peak_bytes": 2.5, "above_entry_bytes": 1, "device": "cpu"},
        {"peak_bytes": True, "above_entry_bytes": False, "device": "cpu"},
        {"peak_bytes": 2, "above_entry_bytes": 1, "device": "tpu"},
        {"peak_bytes": 2},
        "claim",
    ],
)
def test_a_claim_that_is_none_is_malformed(claim: object) -> None:
    said = ask(encode_observation(Observation({**right_sizes().facts, "claims": [claim]})))
    assert set(said) == {"malformed"}


def test_the_judge_is_chosen_by_the_public_name_and_by_nothing_else() -> None:
    assert judge_of(SIZES) == (
        "grader.judging.lessons.gradient_accumulation.micro_batch_size",
        "judge_largest_micro_batch",
    )
    for name in ("measure_peak_memory", "look", "scorecard", "check_nothing", "CheckFailed", "os:system", ""):
        assert not is_check(name)
        assert "failed" in ask(encode_observation(right_sizes()), name)
    with_topic = Observation({**right_sizes().facts, "topic": "three_forms", "check": "check_raw_updates"})
    assert ask(encode_observation(with_topic))["verdict"]["code"] == "passed"


def test_every_check_of_the_course_has_its_judge() -> None:
    checks = [name for name in grader.__all__ if name.startswith("check_")]
    assert checks and all(map(is_check, checks))
    for check in checks:
        assert set(ask(encode_observation(Observation()), check)) == {"malformed"}


def test_tensors_of_other_types_and_shapes_stop_no_judge() -> None:
    for tensor in (torch.zeros(0), torch.ones(3, 3, dtype=torch.int64), torch.full((81,), math.nan)):
        text = encode_observation(Observation({"settings": [{}, {}, {}, {}]}, {"0.gradient.0": tensor}))
        assert set(ask(text, "check_accumulated_gradients")) == {"malformed"}


def test_large_integers_of_an_honest_answer_are_written_as_numbers() -> None:
    facts = decode_observation(encode_observation(Observation({"a": 10**20, "b": -(10**400), "c": 2**60}))).facts
    assert facts == {"a": 1e20, "b": -math.inf, "c": 2**60}


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "grader.judging"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_the_process_answers_line_by_line_and_survives_what_is_malformed(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None and process.stdout is not None
    codes = []
    large = document(packed=save({"a": torch.zeros(2**20)}))
    for text in (encode_observation(right_sizes()), "[" * 10**6, large, encode_observation(right_sizes())):
        process.stdin.write(json.dumps({"check": SIZES, "seed": SEED, "observation": text}) + "\n")
        process.stdin.flush()
        said = json.loads(process.stdout.readline())
        codes.append(said.get("verdict", said).get("code", "malformed"))
    assert codes == ["passed", "malformed", "malformed", "passed"]
