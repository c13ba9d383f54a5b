"""An exam: drawn by a key, solved by its own solution alone, graded like a lesson."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

import nbformat
import pytest

from grader.__main__ import main
from grader.authoring.errors import AuthoringError
from grader.authoring.exam import draw_exam, lessons_with_exam, read_key, score_exams, write_exam
from grader.authoring.lesson import build_assignment, read_lesson
from grader.authoring.notebook import clear_solutions
from grader.classroom.commands.folder import make_classroom
from grader.classroom.commands.grading import grade_class
from grader.variants import count_variants

ROOT = Path(__file__).parents[2]
LESSONS = lessons_with_exam(ROOT)
LATE = "09_learning_rate_schedules"


def test_four_lessons_have_an_exam() -> None:
    assert {lesson[:2] for lesson in LESSONS} >= {"02", "05", "08", "09"}


def test_a_key_draws_one_exam_and_another_key_another() -> None:
    keys = [secrets.token_bytes(32) for _ in range(12)]
    drawn = [[draw_exam(ROOT, lesson, key).text for lesson in LESSONS] for key in keys]
    assert drawn == [[draw_exam(ROOT, lesson, key).text for lesson in LESSONS] for key in keys]
    assert len({text for texts in drawn for text in texts}) > 3 * len(keys)


@pytest.mark.parametrize("lesson", LESSONS)
def test_each_variant_keeps_the_rules_of_a_source(lesson: str, tmp_path: Path) -> None:
    variants = count_variants(lesson[3:])
    for variant in range(0, variants, variants // 12 - 1):
        exam = write_exam(ROOT, lesson, variant)
        read = read_lesson(exam.write(tmp_path))
        assert set(read.exercises) == set(exam.public_answers)
        assert "{" + "{" not in exam.text and "{%" not in exam.text and "\n# \n# \n" not in exam.text


@pytest.mark.slow
def test_the_own_solution_earns_all_and_the_public_one_at_most_half() -> None:
    exams = [
        write_exam(ROOT, lesson, count_variants(lesson[3:]) * share // 7) for lesson in LESSONS for share in (2, 5)
    ]
    for exam, scores in zip(exams, score_exams(exams), strict=True):
        assert scores.are_fair, f"{exam}: {scores}"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="steps are watched from outside on Linux")
def test_a_class_sits_an_exam(tmp_path: Path) -> None:
    exam = write_exam(ROOT, LATE, 41)
    source = exam.write(tmp_path)
    room = tmp_path / "room"
    make_classroom(room, [], {exam.stem: source}, build_assignment)
    solved = build_assignment(source)
    copied = clear_solutions(solved)
    for cell in copied.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in exam.public_answers:
            cell.source = f"# exercise: {name}\n{exam.public_answers[name]}"
    for student, notebook in (("solved", solved), ("copied", copied), ("untouched", clear_solutions(solved))):
        path = room / "submitted" / student / exam.stem / f"{exam.stem}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    rows = {row.student: row for row in grade_class(room, with_feedback=False).rows}
    assert {student: row.points("core") for student, row in rows.items()} == {"solved": 6, "copied": 0, "untouched": 0}


def test_an_exam_is_not_replaced_by_that_of_another_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write_exam(ROOT, LATE, 3), tmp_path / "key"
    make_classroom(tmp_path / "room", [], {first.stem: first.write(tmp_path)}, build_assignment)
    second.write_bytes(next(key for key in map(bytes, ([n] * 16 for n in range(9))) if draws_another(key, 3)))
    assert main(["exam", str(tmp_path / "room"), "--lessons", "09", "--seed-file", str(second)]) == 2
    assert "another key drew" in capsys.readouterr().err


def draws_another(key: bytes, variant: int) -> bool:
    return bool(key.strip()) and draw_exam(ROOT, LATE, key).variant != variant


@pytest.mark.parametrize(("content", "said"), [(None, "No such file"), (b"short\n", "a key of 5 bytes can be guessed")])
def test_a_key_that_is_none_says_how_to_make_one(content: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AuthoringError, match=said) as refused:
        read_key(path)
    assert "secrets.token_hex" in str(refused.value)


def test_a_lesson_without_an_exam_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "key").write_text("0123456789abcdef")
    assert main(["exam", str(tmp_path / "room"), "--lessons", "03", "--seed-file", str(tmp_path / "key")]) == 2
    assert f"no exam on 03_gradient_checkpointing. There is one on: {', '.join(LESSONS)}." in capsys.readouterr().err
