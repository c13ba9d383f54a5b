from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from grader.verdict import CheckFailed, NotSolvedYet, Verdict

VERDICT = Verdict("gradient_not_averaged", "1.0 times", "4.0 times", "what the loss is divided by")


@pytest.fixture
def shell():
    shell = InteractiveShell.instance()
    yield shell
    InteractiveShell.clear_instance()


def shown_by(shell: InteractiveShell, error: Exception, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    def fail() -> None:
        raise error

    shell.user_ns["fail"] = fail
    shell.run_cell("fail()")
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_a_notebook_shows_a_failed_check_in_three_lines(shell: InteractiveShell, capsys) -> None:
    assert shown_by(shell, CheckFailed(VERDICT), capsys) == (
        "expected  1.0 times\nmeasured  4.0 times\nlook at   what the loss is divided by  [gradient_not_averaged]\n",
        "",
    )


def test_a_notebook_shows_an_unsolved_exercise_in_one_line(shell: InteractiveShell, capsys) -> None:
    out, err = shown_by(shell, NotSolvedYet("train"), capsys)
    assert err == ""
    assert out.startswith("not solved yet: train.")
    assert out.count("\n") == 1


def test_the_message_begins_with_the_code_in_brackets() -> None:
    assert str(CheckFailed(VERDICT)) == "[gradient_not_averaged] 4.0 times"
    assert str(NotSolvedYet("train")).startswith("[unsolved] ")
    assert isinstance(NotSolvedYet("train"), AssertionError)
