from __future__ import annotations

import json
from pathlib import Path

import pytest
import toy

from grader.__main__ import main
from grader.authoring.banks import Entry, read_banks
from grader.authoring.lesson import read_lesson
from grader.authoring.validate import LessonReport, entries_of, try_answers, warm_pool
from grader.authoring.validated import Validated, content_hash, entries_to_try, write_record

SHORT_LIMIT_SECONDS = 2


@pytest.fixture
def banked(course: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    toy.make_banks(course)
    monkeypatch.setenv("PYTHONPATH", str(course))  # the kernels and forks find the toy checks
    return course


def read_entries(root: Path) -> list[Entry]:
    lesson = read_lesson(root / "solutions" / f"{toy.STEM}.py")
    return entries_of(read_banks(root, lesson))


def tried(root: Path, exercise: str, *names: str, is_whole: bool = False) -> LessonReport:
    """Run the named answers to an exercise."""
    lesson = read_lesson(root / "solutions" / f"{toy.STEM}.py")
    entries = [entry for entry in read_entries(root) if entry.exercise == exercise and entry.name in names]
    assert len(entries) == len(names)
    with warm_pool([lesson], processes=1) as pool:
        return try_answers(lesson, entries, pool, is_whole=is_whole)


def faults(report: LessonReport) -> str:
    return "\n".join(problem.fault for problem in report.problems)


def write(root: Path, exercise: str, kind: str, *cells: str) -> None:
    """Write a bank of these cells alone."""
    toy.bank(root, exercise, kind).write_text("\n\n".join(cells))


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_sound_lesson_exits_0_and_is_recorded(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "07"]) == 0
    printed = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert any(line.startswith("solved notebook in a kernel 8 of 8") for line in lines)
    assert any(line.startswith("untouched notebook in a kernel 0 of 8") for line in lines)
    assert any(line.startswith("wrong plain_baseline 0 of 3 code_100 code_100 0.") for line in lines)
    assert any(line.startswith("right way_2 3 of 3 passed 0.") for line in lines)
    assert any(line.startswith("whole lesson, this alone unsolved 5 of 8 unsolved 0.") for line in lines)
    assert "0 problems" in lines[-1]
    record = json.loads((banked / "tests/validated.json").read_text())
    assert record[toy.STEM]["content"] == content_hash(banked, toy.STEM)
    assert set(record[toy.STEM]["one_per_code"]["add"]) == {f"code_{number}" for number in range(100, 108)}


def test_two_codes_swapped_exit_1(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checks = banked / "toy_checks.py"
    swap = 'code = {"code_103": "code_104", "code_104": "code_103"}.get(code, code)'
    replace(checks, "            raise CheckFailed", f"            {swap}\n            raise CheckFailed")
    assert main(["validate", "07", "--exercise", "add"]) == 1
    bank = toy.bank(banked, "add", "wrong")
    line = bank.read_text().split("\n").index('# %% answer="returns_0" code="code_103"') + 1
    expected = (
        f"{bank}:{line}: add, wrong returns_0: check_sum reports it as 'code_104', the bank declares 'code_103'. "
        "Correct the judge, or declare the code if its diagnosis is the right one."
    )
    assert expected in capsys.readouterr().out


def test_a_nonsense_sentence_shared_exits_1(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nonsense = '"the moon" if code in ("code_103", "code_104") else f"look at {code}"'
    replace(banked / "toy_checks.py", 'f"look at {code}"', nonsense)
    assert main(["validate", "07", "--exercise", "add"]) == 1
    printed = capsys.readouterr().out
    assert "add, wrong returns_1: the codes 'code_104' and 'code_103' share one sentence: the moon." in printed
    assert printed.splitlines()[-1].startswith("validate: 1 lesson, 14 answers, 1 problem,")


def test_a_check_that_fails_the_solution_is_reported_once(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace(banked / "toy_checks.py", "if measured != expected:", "if True:")
    assert main(["validate", "07", "--exercise", "add"]) == 1
    printed = capsys.readouterr().out
    assert "add, solution loses 2 points to check_sum: " in printed
    assert "add: 12 other answers of it did not run, because its solution fails. Mend that first." in printed
    assert "returns_0" not in printed


def test_an_edit_that_no_longer_applies_exits_1(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = toy.bank(banked, "double", "right")
    edit = "# -     return 2 * number\n# +     return number * 2\n"
    path.write_text(f'{path.read_text()}\n\n# %% edit="turned"\n{edit}')
    assert main(["validate", "07", "--exercise", "double"]) == 0
    replace(banked / "solutions" / f"{toy.STEM}.py", "2 * number", "2 * (number)")
    assert main(["validate", "07", "--exercise", "double"]) == 1
    line = path.read_text().split("\n").index('# %% edit="turned"') + 2
    fault = "the edit does not apply: the solution has no line '    return 2 * number'"
    assert capsys.readouterr().err == f"{path}:{line}: {fault}. Copy it with its indentation.\n"


def test_one_exercise_runs_alone_and_is_not_recorded(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "07", "--exercise", "last", "--exercise", "double"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1].startswith("validate: 1 lesson, 28 answers, 0 problems,")
    assert "kernel" not in printed
    assert "halve" not in printed
    assert not (banked / "tests/validated.json").exists()


def test_an_unknown_exercise_exits_2_and_lists_the_known_ones(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "07", "--exercise", "sum"]) == 2
    assert capsys.readouterr().err.startswith("no exercise 'sum' in the lessons named. Exercises there: add, double,")


def test_a_thin_bank_exits_1(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy.bank(banked, "last", "right").unlink()
    assert main(["validate", "07", "--exercise", "last"]) == 1
    assert "last.right.py: 0 right answers, fewer than 3." in capsys.readouterr().out


def test_a_weakened_check_exits_1_and_is_not_recorded(banked: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    report = tried(banked, "add", is_whole=True)
    assert "add, alone unsolved costs points of 'double': check_double" in faults(report)
    assert "double, solution loses 1 points to check_double" in faults(report)


def test_a_wrong_answer_that_is_not_recognised_is_a_problem(banked: Path) -> None:
    odd = {
        "far": ("first * 1000", "add, wrong far: check_sum reports it as 'unrecognised'"),
        "right": ("first + second", "add, wrong right passes every check"),
        "breaking": ("[][0]", "add, wrong breaking: check_sum stops at IndexError: list index out of range"),
        "leaving": ("exit()", "add, wrong leaving: check_sum stops at SystemExit: None"),
        "dying": ("__import__('os')._exit(3)", "add, wrong dying: died in check_sum"),
    }
    cells = (toy.wrong_cell("add", name, expression, "code_100") for name, (expression, _) in odd.items())
    write(banked, "add", "wrong", *cells)
    assert {fault for _, fault in odd.values()} <= set(faults(tried(banked, "add", *odd)).splitlines())


def test_an_answer_that_never_ends_is_stopped(banked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.authoring.answers.ANSWER_LIMIT_SECONDS", SHORT_LIMIT_SECONDS)
    endless = toy.wrong_cell("add", "endless", "[0 for _ in iter(int, 1)]", "code_100")
    write(banked, "add", "wrong", endless, toy.wrong_cell("add", "next", "104", "code_104"))
    report = tried(banked, "add", "endless", "next")
    assert faults(report) == "add, wrong endless: timeout of 2 s in check_sum"
    assert [result.reported for result in report.results if result.answer.name == "next"] == ["code_104"]


def test_two_answers_may_share_a_declared_code(banked: Path) -> None:
    twin = toy.wrong_cell("add", "twin", "100 + 3", "code_103")
    write(banked, "add", "wrong", toy.wrong_cell("add", "returns_0", "103", "code_103"), twin)
    assert faults(tried(banked, "add", "returns_0", "twin")) == ""


def test_a_sentence_shared_by_a_later_check_is_a_problem(banked: Path) -> None:
    replace(banked / "toy_checks.py", 'f"look at {code}"', '"the moon" if measured == 7 else f"look at {code}"')
    replace(banked / "toy_checks.py", "{12:", "{7: 'seven', 12:")
    first = toy.wrong_cell("add", "first", "abs(first) + abs(second)", "sign_lost")
    second = toy.wrong_cell("add", "second", "7", "seven")
    write(banked, "add", "wrong", first, second)
    report = tried(banked, "add", "first", "second")
    assert "the codes 'seven' and 'sign_lost' share one sentence: the moon" in faults(report)


def test_a_right_answer_that_loses_points_is_a_problem(banked: Path) -> None:
    write(banked, "add", "right", toy.right_cell("add", "way", "abs(first) + abs(second)"))
    report = tried(banked, "add", "way")
    assert faults(report).startswith(
        "add, right way loses 1 points to check_sum_of_negatives: expected  -7 | measured  7"
    )
    assert [(r.earned, r.points, r.reported) for r in report.results if r.answer.name == "way"] == [(2, 3, "sign_lost")]


def test_text_on_stderr_costs_the_points_as_it_does_in_nbgrader(banked: Path) -> None:
    loud = "def add(first, second):\n    import os\n    os.write(2, b'careful')\n    return first + second\n"
    write(banked, "add", "right", f'# %% answer="loud"\n{loud}')
    assert "add, right loud loses 2 points to check_sum: careful" in faults(tried(banked, "add", "loud"))


def test_an_answer_with_a_seed_runs_on_that_case(banked: Path) -> None:
    drawn = 'int(__import__("os").environ.get("LEAN_TRAINING_SEED", 4))'
    replace(banked / "toy_checks.py", "[((4,), 8)]", f"[(({drawn},), 2 * {drawn})]")
    replace(banked / "toy_checks.py", '{4: "not_doubled"', '{8: "fixed"')
    cell = toy.wrong_cell("double", "hard_coded", "8", "fixed")
    write(banked, "double", "wrong", cell)
    assert faults(tried(banked, "double", "hard_coded")) == "double, wrong hard_coded passes every check"
    write(banked, "double", "wrong", cell.replace('code="fixed"', 'code="fixed" seed=20011'))
    assert faults(tried(banked, "double", "hard_coded")) == ""


def test_answers_see_their_own_source_and_nothing_of_each_other(banked: Path) -> None:
    text = "import inspect\ndef double(n):\n    assert 'inspect' in inspect.getsource(double)\n    return 2 * n\n"
    apart = toy.right_cell("double", "apart", "number + number * ('inspect' not in globals())")
    write(banked, "double", "right", f'# %% answer="reading"\n{text}', apart)
    assert faults(tried(banked, "double", "reading", "apart")) == ""


def test_fifteen_days_of_test_runs_try_one_answer_per_code_until_something_changes(banked: Path) -> None:
    lesson = read_lesson(banked / "solutions" / f"{toy.STEM}.py")
    whole = 4 * 8 + 4 * 3
    assert len(entries_to_try(banked, lesson, 0)) == whole
    wrong = [entry for entry in read_entries(banked) if entry.kind == "wrong" and entry.exercise in ("add", "halve")]
    chosen: dict[str, dict[str, str]] = {"add": {}, "halve": {}}
    for entry in wrong:
        chosen[entry.exercise][entry.code] = entry.name
    write_record(banked, {toy.STEM: Validated(content_hash(banked, toy.STEM), chosen)})
    days = [entries_to_try(banked, lesson, day) for day in range(100, 115)]
    assert {entry for entries in days for entry in entries} == set(wrong)
    assert [bool(entries) for entries in days].count(True) == 5
    write(banked, "add", "right", toy.right_cell("add", "way", "second + first"))
    assert len(entries_to_try(banked, lesson, 0)) == whole - 2


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
        (course / "grader" / name).write_text(text + "\nCHANGED = True\n")
        if content_hash(course, toy.STEM) != validated:
            changing.append(name)
        (course / "grader" / name).write_text(text)
    unreached = ["registry.py", "lessons/b.py", "judging/lessons/b.py", "figures.py"]
    assert changing == [name for name in files if name not in unreached]


def test_prose_leaves_a_validation_valid_and_code_does_not(course: Path) -> None:
    source = course / "solutions" / f"{toy.STEM}.py"
    text = source.read_text()
    module = course / "grader" / "meters.py"
    module.parent.mkdir(exist_ok=True)
    module.write_text('"""Measure."""\n\nLIMIT = 3\n')
    source.write_text(text := f"{text}\n# %%\nfrom grader import meters\n")
    validated = content_hash(course, toy.STEM)
    module.write_text('"""Measure exactly."""\n\nLIMIT = 3  # bytes\n')
    reworded = text.replace("Return twice a number.", "Double a number.")
    source.write_text(f"{reworded}\n# %% [markdown]\n# Another sentence.\n")
    assert content_hash(course, toy.STEM) == validated
    module.write_text('"""Measure."""\n\nLIMIT = 4\n')
    assert content_hash(course, toy.STEM) != validated
    module.write_text('"""Measure."""\n\nLIMIT = 3\n')
    source.write_text(text.replace("points=3", "points=2", 1))
    assert text != source.read_text()
    assert content_hash(course, toy.STEM) != validated
