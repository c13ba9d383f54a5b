from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.lessons.gradient_accumulation import checks as gradient_accumulation
from grader.observation import MEDIA_TYPE, Observation, decode_observation
from grader.observing import running
from grader.observing.attempts import read_attempts
from grader.observing.running import make_check
from grader.verdict import PASSED, CheckFailed, Verdict


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEAN_TRAINING_ATTEMPTS", raising=False)


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge_double(topic: str, property_name: str, observation: Observation, seed: int) -> Verdict:
        assert (topic, property_name) == ("test_running", "double")
        is_right = observation.facts["doubled"] == 2 * seed
        return Verdict(PASSED if is_right else "not_doubled", f"{2 * seed}", f"{observation.facts['doubled']}", "2 x")

    monkeypatch.setattr(running, "ask_judge", judge_double)


@make_check("double", ("number",))
def check_double(double, seed: int) -> Observation:
    """Double the seed."""
    return Observation({"doubled": double(seed)})


def test_a_pass_prints_one_line_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    check_double(lambda number: 2 * number)
    assert tuple(capfd.readouterr()) == ("passed: 0\n", "")


def test_the_seed_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    monkeypatch.setenv("LEAN_TRAINING_SEED", "12345")
    check_double(lambda number: 2 * number)
    assert capfd.readouterr().out == "passed: 24690\n"
    with pytest.raises(CheckFailed):
        check_double(lambda number: 0)  # right for the visible seed


def test_a_failure_carries_the_judge_s_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAN_TRAINING_SEED", "7")
    with pytest.raises(CheckFailed, match=r"^\[not_doubled\] 7$") as caught:
        check_double(lambda number: number)
    assert caught.value.lines() == ["expected  14", "measured  7", "look at   2 x  [not_doubled]"]


def test_every_call_is_recorded_with_its_code() -> None:
    check_double(lambda number: 2 * number)
    for answer in (lambda number: 1 / number, lambda: 0, 3):
        with pytest.raises(CheckFailed):
            check_double(answer)
    codes = [attempt["code"] for attempt in read_attempts()]
    assert codes == ["passed", "raised_zero_division_error", "wrong_signature", "not_a_function"]


def test_what_the_answer_writes_to_stderr_is_swallowed(capfd: pytest.CaptureFixture[str]) -> None:
    def noisy(number: int) -> int:
        print("noise", file=sys.stderr)
        return 2 * number

    check_double(noisy)
    assert capfd.readouterr().err == ""


def test_an_error_of_a_judge_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Verdict:
        raise KeyError("a fault of the project")

    monkeypatch.setattr(running, "ask_judge", broken)
    with pytest.raises(KeyError, match="a fault of the project"):
        check_double(lambda number: 2 * number)
    assert read_attempts() == []


def test_an_error_of_a_check_is_raised_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_accumulation, "fit_cases", int)  # no cases, but a number
    with pytest.raises(TypeError, match="not iterable"):
        gradient_accumulation.check_largest_micro_batch(lambda forecast_peak, batch, budget_bytes: 1)
    assert read_attempts() == []


class Shell:
    """A kernel's shell that keeps what is shown."""

    def __init__(self) -> None:
        self.display_pub = self
        self.shown: list[dict[str, str]] = []

    def publish(self, data: dict[str, str]) -> None:
        self.shown.append(data)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    def unreachable(*_: object) -> Verdict:
        pytest.fail("a judge was asked in the kernel of a class")

    shell = Shell()
    monkeypatch.setenv("LEAN_TRAINING_OBSERVE", "emit")
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    monkeypatch.setattr(running, "ask_judge", unreachable)
    return shell


@pytest.mark.parametrize("factor", [2, 3])
def test_a_class_kernel_shows_one_observation_and_no_verdict(shell: Shell, factor: int, capfd) -> None:
    check_double(lambda number: factor)
    ((media_type, text),) = shell.shown[0].items()
    assert media_type == MEDIA_TYPE
    assert decode_observation(text).facts == {"doubled": factor}
    assert len(shell.shown) == 1
    assert tuple(capfd.readouterr()) == ("", "")
    assert read_attempts() == []


def test_a_broken_answer_is_told_in_a_class_kernel_too(shell: Shell) -> None:
    for answer in (lambda number: 1 / number, lambda: 0, 3):
        with pytest.raises(CheckFailed):
            check_double(answer)
    assert shell.shown == []


def test_an_answer_that_leaves_too_much_to_judge_fails_in_the_kernel(shell: Shell) -> None:
    with pytest.raises(CheckFailed, match="too_much_to_judge"):
        check_double(lambda number: [0] * 200_000)
    assert shell.shown == []


def test_an_observation_needs_a_kernel(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    with pytest.raises(RuntimeError, match="unset it, and the check judges here"):
        check_double(lambda number: 2 * number)
