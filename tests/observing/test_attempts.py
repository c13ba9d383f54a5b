from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.observing import attempts
from grader.observing.attempts import append_attempt, read_attempts
from grader.observing.scorecard import scorecard


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEAN_TRAINING_ATTEMPTS", raising=False)
    return tmp_path


def append(check: str = "check_predicted_peak", code: str = "passed") -> None:
    append_attempt("predict_peak_bytes", check, code, 0.1234)


def test_each_call_is_one_line_with_its_number(folder: Path) -> None:
    append(code="gradients_forgotten")
    append("check_stream_updates")
    append()
    lines = [json.loads(line) for line in (folder / "attempts.jsonl").read_text().splitlines()]
    assert [line["attempt"] for line in lines] == [1, 1, 2]
    assert lines[0] == {
        "exercise": "predict_peak_bytes",
        "check": "check_predicted_peak",
        "code": "gradients_forgotten",
        "seconds": 0.12,
        "attempt": 1,
        "worked_seconds": lines[0]["worked_seconds"],
    }


def test_record_has_the_time_since_the_call_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((100.0, 160.0))
    monkeypatch.setattr(attempts, "_last_call", 40.0)
    monkeypatch.setattr(attempts.time, "monotonic", lambda: next(clock))
    append()
    append()
    assert [attempt["worked_seconds"] for attempt in read_attempts()] == [60, 60]


@pytest.mark.parametrize("value", ["off", "OFF", "0", "no", "false"])
def test_one_switch_keeps_no_record(folder: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("LEAN_TRAINING_ATTEMPTS", value)
    append()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("torn", [b'{"exercise": "pre', b'{"exercise": "\xc3', b"[]\n", b"17\n", b'{"check": "x"}\n'])
def test_a_torn_line_costs_no_other_attempt(folder: Path, torn: bytes) -> None:
    append()
    with (folder / "attempts.jsonl").open("ab") as file:
        file.write(torn)
    append()
    assert [attempt["attempt"] for attempt in read_attempts()] == [1, 2]


def test_a_folder_that_cannot_be_written_costs_no_check(folder: Path) -> None:
    (folder / "attempts.jsonl").mkdir()
    append()
    assert read_attempts() == []


def test_the_scorecard_keeps_points_once_earned(capsys: pytest.CaptureFixture[str]) -> None:
    append(code="gradients_forgotten")
    append()
    append(code="raised_type_error")
    append("check_largest_micro_batch", "not_a_divisor")
    scorecard()
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("Gradient accumulation: 2 of ")
    assert [line.split() for line in shown if "check_predicted_peak" in line] == [
        ["check_predicted_peak", "2", "/", "2", "passed", "(3", "attempts)"]
    ]
    assert [line.split() for line in shown if "check_largest_micro_batch" in line] == [
        ["check_largest_micro_batch", "0", "/", "1", "not_a_divisor", "(1", "attempt)"]
    ]
    assert any("not tried yet (0 attempts)" in line for line in shown)


def test_the_scorecard_says_when_nothing_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    scorecard()
    assert capsys.readouterr().out == "No check was run yet in this folder.\n"
