from __future__ import annotations

import json
from pathlib import Path

import pytest
import toy

from grader.__main__ import main
from grader.authoring.banks import bank_problems, read_banks
from grader.authoring.lesson import read_lesson
from grader.authoring.normalise import normalised
from grader.authoring.validate import LessonReport, try_answers
from grader.authoring.validated import Validated, content_hash, entries_to_try, write_record

WRONG = Path("tests/wrong_answers") / toy.STEM
RIGHT = Path("tests/right_answers") / toy.STEM
SHORT_LIMIT_SECONDS = 2


@pytest.fixture
def banked(course: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    toy.make_banks(course)
    monkeypatch.setenv("PYTHONPATH", str(course))  # the kernels and forks find the toy checks
    return course


def faults(root: Path) -> list[str]:
    """The problems of the banks that need no run."""
    lesson = read_lesson(root / "solutions" / f"{toy.STEM}.py")
    return [problem.fault for problem in bank_problems(root, lesson, read_banks(root, toy.STEM))]


def tried(root: Path, *names: str, is_whole: bool = False) -> LessonReport:
    """Run the named entries of the banks."""
    lesson = read_lesson(root / "solutions" / f"{toy.STEM}.py")
    entries = [entry for entry in read_banks(root, toy.STEM) if entry.path.stem in names]
    return try_answers(lesson, entries, processes=1, is_whole=is_whole)


def told(report: LessonReport) -> str:
    return "\n".join(problem.fault for problem in report.problems)


def test_a_sound_lesson_exits_0_and_is_remembered(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "07"]) == 0
    printed = capsys.readouterr().out
    assert "solved notebook in a kernel                 8 of 8" in printed
    assert "untouched notebook in a kernel              0 of 8" in printed
    assert "wrong    plain_baseline                     0 of 3    code_100" in printed
    assert "right    way_2                              3 of 3    passed" in printed
    assert "whole lesson, this alone unsolved           5 of 8    unsolved" in printed
    assert "0 problems" in printed.splitlines()[-1]
    record = json.loads((banked / "tests/validated.json").read_text())
    assert record[toy.STEM]["content"] == content_hash(banked, toy.STEM)
    assert set(record[toy.STEM]["one_per_message"]) == {f"code_{number}" for number in range(100, 108)}


def test_a_weakened_check_exits_1_and_is_not_remembered(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checks = banked / "toy_checks.py"
    checks.write_text(checks.read_text().replace("if measured != expected:", "if measured is None:"))
    assert main(["validate"]) == 1
    assert "double, wrong hard_coded passes every check" in capsys.readouterr().out
    assert not (banked / "tests/validated.json").exists()


def test_a_demonstration_that_needs_an_answer_is_a_problem(
    banked: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source.write_text(toy.LESSON.replace("look(add, 3, 4)", "print(add(3, 4))"))
    assert main(["validate"]) == 1
    printed = capsys.readouterr().out
    assert "the untouched notebook: cell 6: NotImplementedError" in printed
    assert "add, alone unsolved: cell 4 stops at NotImplementedError" in printed


def test_an_exercise_that_needs_another_answer_is_a_problem(banked: Path, source: Path) -> None:
    source.write_text(toy.LESSON.replace("    return 2 * number\n", "    return add(number, number)\n"))
    report = tried(banked, is_whole=True)
    assert "add, alone unsolved costs points of 'double': check_double" in told(report)
    assert "double, solution loses 1 points to check_double" in told(report)


def test_a_wrong_answer_that_is_not_told_its_mistake_is_a_problem(banked: Path) -> None:
    odd = {
        "add__far": ("first * 1000", "add, wrong far: check_sum tells it 'unrecognised'"),
        "add__right": ("first + second", "add, wrong right passes every check"),
        "add__breaking": ("[][0]", "add, wrong breaking: check_sum stops at IndexError: list index out of range"),
        "add__leaving": ("exit()", "add, wrong leaving: check_sum stops at SystemExit: None"),
        "add__dying": ("__import__('os')._exit(3)", "add, wrong dying: died in check_sum"),
    }
    for name, (expression, _) in odd.items():
        (banked / WRONG / f"{name}.py").write_text(toy.answer("add", expression))
    faults_told = told(tried(banked, *odd)).splitlines()
    assert {fault for _, fault in odd.values()} <= set(faults_told)


def test_an_answer_that_never_ends_is_stopped(banked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.authoring.answers.ANSWER_LIMIT_SECONDS", SHORT_LIMIT_SECONDS)
    (banked / WRONG / "add__endless.py").write_text(toy.answer("add", "[0 for _ in iter(int, 1)]"))
    report = tried(banked, "add__endless", "add__returns_1")
    assert told(report) == "add, wrong endless: timeout of 2 s in check_sum"
    assert [result.told for result in report.results if result.answer.name == "returns_1"] == ["code_104"]


def test_two_wrong_answers_with_one_message_are_a_problem(banked: Path) -> None:
    (banked / WRONG / "add__twin.py").write_text(toy.answer("add", "103"))
    assert told(tried(banked, "add__returns_0", "add__twin")) == "add, wrong twin is told 'code_103', as returns_0 is"


def test_a_right_answer_that_loses_points_is_a_problem(banked: Path) -> None:
    (banked / RIGHT / "add__way_0.py").write_text(toy.answer("add", "abs(first) + abs(second)"))
    report = tried(banked, "add__way_0")
    assert told(report).startswith(
        "add, right way_0 loses 1 points to check_sum_of_negatives: expected  -7 | measured  7"
    )
    assert [(r.earned, r.points, r.told) for r in report.results if r.answer.name == "way_0"] == [(2, 3, "sign_lost")]


def test_text_on_stderr_costs_the_points_as_it_does_in_nbgrader(banked: Path) -> None:
    loud = "def add(first, second):\n    import os\n    os.write(2, b'careful')\n    return first + second\n"
    (banked / RIGHT / "add__way_0.py").write_text(loud)
    assert "add, right way_0 loses 2 points to check_sum: careful" in told(tried(banked, "add__way_0"))


def test_the_hard_coded_answer_meets_a_case_that_it_was_not_written_for(banked: Path) -> None:
    checks = banked / "toy_checks.py"
    drawn = 'int(__import__("os").environ.get("LEAN_TRAINING_SEED", 4))'
    text = checks.read_text().replace("[((4,), 8)]", f"[(({drawn},), 2 * {drawn})]")
    checks.write_text(text.replace('{4: "not_doubled"', '{8: "fixed"'))
    (banked / WRONG / "double__hard_coded.py").write_text(toy.answer("double", "8"))
    report = tried(banked, "double__hard_coded")
    assert [result.told for result in report.results if result.answer.name == "hard_coded"] == ["fixed"]
    assert told(report) == ""


def test_answers_see_their_own_source_and_nothing_of_each_other(banked: Path) -> None:
    text = "import inspect\ndef double(n):\n    assert 'inspect' in inspect.getsource(double)\n    return 2 * n\n"
    (banked / RIGHT / "double__way_0.py").write_text(text)
    (banked / RIGHT / "double__way_1.py").write_text(
        toy.answer("double", "number + number * ('inspect' not in globals())")
    )
    assert told(tried(banked, "double__way_0", "double__way_1")) == ""


def test_full_banks_have_no_static_problem(banked: Path) -> None:
    assert faults(banked) == []


def test_a_thin_bank_is_a_problem(banked: Path) -> None:
    (banked / WRONG / "add__returns_0.py").unlink()
    (banked / RIGHT / "add__way_0.py").unlink()
    assert faults(banked) == [
        "'add' has 7 wrong answers, where 8 are the least",
        "'add' has 2 right answers, where 3 are the least",
    ]


@pytest.mark.parametrize("name", toy.OBLIGATORY)
def test_an_obligatory_wrong_answer_is_missed(banked: Path, name: str) -> None:
    (banked / WRONG / f"last__{name}.py").rename(banked / WRONG / "last__other.py")
    assert faults(banked) == ["an obligatory wrong answer is missing"]


def test_an_exercise_by_hand_owes_the_library_shortcut(banked: Path, source: Path) -> None:
    source.write_text(toy.LESSON.replace("Return twice a number.", "Return twice a number, by hand."))
    assert faults(banked) == ["an obligatory wrong answer is missing"]
    (banked / WRONG / "double__returns_0.py").rename(banked / WRONG / "double__library_shortcut.py")
    assert faults(banked) == []


def test_names_and_origins_of_entries_are_checked(banked: Path) -> None:
    (banked / WRONG / "sum__odd.py").write_text("# Source: a thought.\n")
    (banked / WRONG / "add__empty.py").write_text("# Source: a thought.\n")
    (banked / WRONG / "add__anonymous.py").write_text(toy.answer("add", "1", comment="# No origin."))
    assert sorted(faults(banked)) == [
        "defines no function 'add'",
        "does not say where the mistake comes from",
        "the name fits no exercise",
    ]


def test_a_right_answer_equal_to_the_solution_is_a_problem(banked: Path) -> None:
    (banked / RIGHT / "double__way_0.py").write_text("def double(n):\n    '''Twice.'''\n    return 2 * n  # two\n")
    (banked / RIGHT / "double__way_1.py").write_text(toy.answer("double", "sum([number, number])"))
    assert faults(banked) == ["is the same answer as the solution", "is the same answer as double__way_1.py"]


def test_normalising_forgets_wording_and_keeps_meaning() -> None:
    assert normalised("def f(a: int) -> int:\n    b = a\n    return b") == normalised(
        "def f(x):\n  'X.'\n  y = x\n  return y"
    )
    assert normalised("def f(a, b):\n    return a - b") != normalised("def f(a, b):\n    return b - a")
    assert normalised("def f(a):\n    return a.sum()") != normalised("def f(a):\n    return a.mean()")


def test_two_weeks_of_test_runs_try_one_answer_per_message_until_something_changes(banked: Path) -> None:
    whole = 4 * 8 + 4 * 3
    assert len(entries_to_try(banked, toy.STEM, 0)) == whole
    wrong = [entry.path.name for entry in read_banks(banked, toy.STEM) if entry.kind == "wrong"][:16]
    told = {f"code_{number}": name for number, name in enumerate(wrong)}
    write_record(banked, {toy.STEM: Validated(content_hash(banked, toy.STEM), told)})
    days = [[entry.path.name for entry in entries_to_try(banked, toy.STEM, day)] for day in range(100, 114)]
    assert sorted(name for names in days for name in names) == sorted(told.values())
    assert [len(names) for names in days].count(1) == 12
    (banked / RIGHT / "add__way_0.py").write_text("# changed\n")
    assert len(entries_to_try(banked, toy.STEM, 0)) == whole


def test_a_lesson_stays_validated_until_something_that_it_reaches_changes(course: Path) -> None:
    files = {
        "registry.py": 'HOMES: T = {"grader.lessons.sums.checks": ("check_sum",), "grader.lessons.b": ("check_b",)}\n'
        'JUDGES: T = {"grader.judging.lessons.sums": ("check_sum",), "grader.judging.lessons.b": ("check_b",)}\n',
        "lessons/sums/checks.py": "from grader.lessons.sums import CASE\n",
        "lessons/b.py": "",
        "lessons/sums/__init__.py": "from .numbers import CASE\n",
        "lessons/sums/numbers.py": "CASE = 1\n",
        "judging/lessons/sums.py": "def judge_sum():\n    from grader.meters.peak import measure\n",
        "judging/lessons/b.py": "",
        "meters/peak.py": "",
        "figures.py": "",
    }
    for name, text in files.items():
        path = course / "grader" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    source = course / "solutions" / f"{toy.STEM}.py"
    source.write_text(source.read_text() + "\n# %%\nfrom grader import check_sum, figures\n")
    validated = content_hash(course, toy.STEM)
    changing = []
    for name, text in files.items():
        (course / "grader" / name).write_text(text + "# changed\n")
        if content_hash(course, toy.STEM) != validated:
            changing.append(name)
        (course / "grader" / name).write_text(text)
    unreached = ["registry.py", "lessons/b.py", "judging/lessons/b.py", "figures.py"]
    assert changing == [name for name in files if name not in unreached]
