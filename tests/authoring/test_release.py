from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import toy

from grader.__main__ import main

COURSE_FILE = Path("course/07_sums.ipynb")
POINTS_FILE = Path("grader/lessons.json")


def files_below(root: Path) -> dict[Path, bytes]:
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_release_is_idempotent_and_check_agrees(course: Path) -> None:
    assert main(["release", "--check"]) == 1
    assert main(["release"]) == 0
    first = files_below(course)
    assert {COURSE_FILE, POINTS_FILE} <= set(first)
    assert main(["release"]) == 0
    assert files_below(course) == first
    assert main(["release", "--check"]) == 0


@pytest.mark.parametrize(
    "old, new", [("add numbers", "add figures"), ("2 * number", "3 * number"), ("points=3", "points=2")]
)
def test_check_names_the_file_after_one_word_of_a_solution_changed(
    course: Path, source: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    main(["release"])
    source.write_text(toy.LESSON.replace(old, new))
    before = files_below(course)
    assert main(["release", "--check"]) == 1
    assert f"{COURSE_FILE}: differs" in capsys.readouterr().out
    assert files_below(course) == before


def test_check_names_missing_and_stale_files(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["release"])
    (course / COURSE_FILE).rename(course / "course/08_gone.ipynb")
    assert main(["release", "--check"]) == 1
    printed = capsys.readouterr().out
    assert f"{COURSE_FILE}: missing" in printed
    assert "course/08_gone.ipynb: has no source" in printed
    assert main(["release"]) == 0
    assert not (course / "course/08_gone.ipynb").exists()


def test_check_sees_an_answer_typed_into_the_course(course: Path) -> None:
    main(["release"])
    path = course / COURSE_FILE
    path.write_text(path.read_text().replace("raise NotImplementedError()", "return 2 * number"))
    assert main(["release", "--check"]) == 1


def test_a_faulty_source_exits_1_and_writes_nothing(
    course: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source.write_text(toy.LESSON.replace("points=3", "points=0"))
    before = files_below(course)
    assert main(["release"]) == 1
    assert files_below(course) == before
    printed = capsys.readouterr().err
    assert printed.startswith(f"{source}:")
    assert "Traceback" not in printed


def test_faults_of_all_sources_are_reported_together(
    course: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source.with_name("08_more.py").write_text(toy.LESSON.replace("points=3", "points=0").replace("7. Sums", "8. More"))
    source.write_text(toy.LESSON.replace("points=3", "points=0"))
    assert main(["release"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_objectives_of_a_wrong_count_are_a_problem_of_the_source(
    course: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stated = '# %% [markdown] objectives="1; 2; 99"\n# **You will be able to**\n# - add;\n# - double.\n\n'
    source.write_text(toy.LESSON.replace("# %%\n", stated + "# %%\n", 1))
    assert main(["release"]) == 1
    assert "2 objectives, and exercises for 3. Write objectives=" in capsys.readouterr().err


def test_a_check_without_a_home_or_a_judge_is_a_problem_of_the_registry(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = course / "grader" / "registry.py"
    registry.parent.mkdir(exist_ok=True)
    registry.write_text('HOMES: dict = {"grader.toy": ("check_sum",)}\nJUDGES: dict = {}\n')
    assert main(["release"]) == 1
    said = capsys.readouterr().err
    assert "registry.py: no module judges check_sum. List it under JUDGES." in said
    assert "registry.py: check_double has no home. List it under HOMES." in said


def test_a_misnamed_judge_is_a_problem_of_its_module(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = course / "grader" / "judging" / "toy.py"
    judge.parent.mkdir(parents=True)
    judge.write_text("def judge_sums(observation, seed): ...\n\n\ndef judge_double(observation, seed): ...\n")
    judge.parents[1].joinpath("toy.py").write_text("from elsewhere import check_double, check_sum\n")
    names = '("check_sum", "check_double")'
    judges = f'JUDGES: dict = {{"grader.judging.toy": {names}, "grader.judging.lost": ("check_sum",)}}\n'
    judge.parents[1].joinpath("registry.py").write_text(f'HOMES: dict = {{"grader.toy": {names}}}\n{judges}')
    assert main(["release"]) == 1
    said = capsys.readouterr().err
    assert f"{judge}: it has no judge_sum. Define it, or correct the registry." in said
    assert "registry.py: grader.judging.lost is no module. Correct its name, or write judge_sum." in said
    assert "judge_double" not in said


def test_a_named_lesson_is_built_alone(course: Path, source: Path) -> None:
    source.with_name("08_more.py").write_text(toy.LESSON.replace("7. Sums", "8. More"))
    assert main(["release", "08"]) == 0
    assert not (course / COURSE_FILE).exists()
    assert (course / "course/08_more.ipynb").exists()
    assert main(["release"]) == 0
    assert main(["release", "--check", "07_sums"]) == 0


def test_an_unknown_lesson_exits_2_and_lists_the_known_ones(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["release", "99"]) == 2
    printed = capsys.readouterr().err
    assert "no lesson '99'" in printed
    assert "07_sums" in printed


def test_release_never_imports_torch(course: Path) -> None:
    script = "import sys; from grader.__main__ import main; sys.exit(main(['release']) or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=course, check=False).returncode == 0
