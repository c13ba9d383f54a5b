"""Points by hand and late work go through nbgrader's own gradebook, with the classroom's own times."""

from __future__ import annotations

import csv
import datetime
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from small_class import release_of
from small_course import LESSON, answer, hand_in, solved

from grader.__main__ import main
from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import UNREADABLE, read_rows
from grader.classroom.commands.grading import grade_class
from grader.classroom.commands.screen_lines import summary_lines
from grader.classroom.gradebook.deadlines import PercentPerDay, find_extension, strange_extensions
from grader.classroom.pages.class_report.sections import look_at

pytestmark = pytest.mark.slow
DUE = "2026-03-15 18:00+01:00"


@pytest.fixture
def room(new_room: Callable[[], Path]) -> Path:
    room = new_room()
    done = solved(release_of(room))
    hand_in(room, "ada", answer(done, "double", "def double(number):\n    return number * number"))
    hand_in(room, "bob", done)
    return room


def marks(room: Path) -> dict[str, dict[str, str]]:
    with (room / "marks.csv").open(newline="") as file:
        return {line["student"]: line for line in csv.DictReader(file)}


def override(room: Path, *words: str) -> int:
    return main(["override", str(room), *words, "--because", "the question was <b>unclear</b>"])


def test_points_by_hand_count_everywhere_and_stay(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grade_class(room, jobs=2)
    assert marks(room)["ada"]["mark_percent"] == "60.0"
    assert override(room, "ada", "07", "check_double", "1") == 0
    assert "check_double: 1 points by hand" in capsys.readouterr().out
    line = marks(room)["ada"]
    assert (line["core_points"], line["mark_percent"]) == ("4", "80.0")
    assert "check_double: 1 of 2 points by hand (the question was <b>unclear</b>)" in line["reason"]
    with Gradebook(f"sqlite:///{room}/gradebook.db") as book:
        grade = book.find_grade("check_double", LESSON, LESSON, "ada")
        assert (grade.manual_score, grade.auto_score, grade.needs_manual_grade) == (1, 0, False)
        assert "the question was" in book.find_comment("double", LESSON, LESSON, "ada").manual_comment
    page = (room / "feedback" / "ada" / LESSON / f"{LESSON}.html").read_text()
    assert "1 of 2" in page
    assert "points by hand: the question was unclear" in re.sub(r"</?b>", "", page)
    assert override(room, "ada", "07", "check_double", "1.5") == 0
    grade_class(room, jobs=2)
    line = marks(room)["ada"]
    assert (line["core_points"], line["reason"].count("by hand")) == ("4.5", 1)
    assert marks(room)["bob"]["mark_percent"] == "100.0"


def test_points_by_hand_that_outlive_what_they_were_given_for_wait_for_a_person(room: Path) -> None:
    grade_class(room, with_feedback=False)
    assert override(room, "ada", "07", "check_double", "1") == 0
    assert "please look at it" not in marks(room)["ada"]["reason"]
    hand_in(room, "ada", solved(release_of(room)))
    for _ in range(2):  # also when nothing has changed since
        grade_class(room, with_feedback=False)
        line = marks(room)["ada"]
        assert (line["core_points"], line["to_look_at"]) == ("4", "1")
        assert "given before this was handed in: please look at it" in line["reason"]
    ada = next(row for row in read_rows(room) if row.student == "ada")
    assert "given before this was handed in" in look_at(ada)[0][2]
    assert override(room, "ada", "07", "check_double", "1") == 0  # the same points, confirmed
    grade_class(room, with_feedback=False)
    line = marks(room)["ada"]
    assert (line["to_look_at"], "please look at it" in line["reason"]) == ("0", False)


def test_reason_for_points_by_hand_is_read_where_no_notebook_could_be(room: Path) -> None:
    hand_in(room, "ada", "{")
    grade_class(room)
    assert override(room, "ada", "07", "check_double", "1") == 0
    page = (room / "feedback" / "ada" / LESSON / f"{LESSON}.html").read_text()
    assert "What a person wrote" in page
    assert "points by hand: the question was unclear" in re.sub(r"</?b>", "", page)
    assert "#answer-" not in page  # there is none to go to


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ada", "07", "check_double", "2.5"), "gives 0 to 2 points, not 2.5"),
        (("ada", "07", "check_double", "nan"), "gives 0 to 2 points"),
        (
            ("ada", "07", "check_dbl", "1"),
            "There are, with their points: check_double (2), check_triple (3), check_guess (4)",
        ),
        (("ada", "09", "check_double", "1"), "There is no lesson '09'. There are: 07_small_numbers"),
        (
            ("eve", "07", "check_double", "1"),
            "'eve' has no graded submission to 07_small_numbers. There are: ada, bob.",
        ),
    ],
)
def test_points_by_hand_that_cannot_be_are_refused(
    graded_pair: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (graded_pair / "grading.json").read_bytes()
    assert override(graded_pair, *words) == 2
    assert message in capsys.readouterr().err
    assert (graded_pair / "grading.json").read_bytes() == before


@pytest.fixture(scope="module")
def graded_pair(new_room: Callable[[], Path]) -> Path:
    room = new_room()
    done = solved(release_of(room))
    hand_in(room, "ada", done)
    hand_in(room, "bob", done)
    grade_class(room, with_feedback=False)
    return room


def choose_plugin(room: Path, name: str = "grader.classroom.late.PercentPerDay") -> None:
    with (room / "nbgrader_config.py").open("a") as file:
        file.write(f"\nc.AssignLatePenalties.plugin_class = {name!r}\n")


def set_due_date(room: Path) -> None:
    assert main(["due", str(room), "07", DUE]) == 0


def nbgrader(room: Path, *words: str) -> None:
    environment = os.environ | {"PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])}
    command = [sys.executable, "-m", "nbgrader", *words]
    done = subprocess.run(command, cwd=room, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr


def receive_at(room: Path, times: dict[str, str]) -> None:
    """Record what was handed in, and correct its times as an instructor may."""
    main(["receive", str(room)])
    path = room / "received.csv"
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        line["received"] = times[line["student"]]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)


def test_late_work_costs_points_by_the_classrooms_own_times(room: Path) -> None:
    (room / "submitted" / "ada" / LESSON / "timestamp.txt").write_text("2026-03-01 00:00:00 UTC")
    choose_plugin(room)
    set_due_date(room)
    receive_at(room, {"ada": "2026-03-17T16:00:00+00:00", "bob": "2026-03-15T18:59:00+02:00"})
    grade_class(room, jobs=2)
    found = {row.student: row for row in read_rows(room)}
    assert found["ada"].late_seconds == 47 * 3600
    assert f"late: ada, {LESSON}: 0.6 points off, which leaves 48.0 %" in summary_lines(read_rows(room), room)
    assert found["ada"].late_penalty == pytest.approx(0.2 * 7)  # two days begun, 20 % of 3 core and 4 further points
    assert marks(room)["ada"]["mark_percent"] == "48.0"  # 3 - 0.6 of 5
    assert "late by 2.0 days: 0.6 points off the mark" in marks(room)["ada"]["reason"]
    assert (found["bob"].late_seconds, marks(room)["bob"]["mark_percent"]) == (0, "100.0")
    assert "Late: 0.6 points were taken off" in (room / found["ada"].feedback).read_text()
    assert override(room, "ada", "07", "check_double", "2") == 0
    assert marks(room)["ada"]["mark_percent"] == "80.0"  # the penalty follows: 20 % of 5
    (room / "extensions.csv").write_text("student,lesson,days\nada,07,3\n")
    grade_class(room, jobs=2)
    assert marks(room)["ada"]["mark_percent"] == "100.0"


def graded_for_formgrader(room: Path) -> set[str]:
    """Return whom formgrader lists as graded, asked as its server asks, with the classroom's settings."""
    ask = "from nbgrader.apps import NbGrader; app = NbGrader(); app.initialize([]); "
    ask += "from nbgrader.apps.api import NbGraderAPI; api = NbGraderAPI(app.coursedir, parent=app); "
    ask += f"print(*[s['student'] for s in api.get_submissions({LESSON!r}) if s['autograded']])"
    done = subprocess.run([sys.executable, "-c", ask], cwd=room, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_nbgraders_own_command_and_plugin_see_the_same_times(room: Path) -> None:
    (room / "submitted" / "ada" / LESSON / "timestamp.txt").write_text("2026-03-01 00:00:00 UTC")
    with (room / "nbgrader_config.py").open("a") as file:
        file.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    nbgrader(room, "db", "assignment", "add", LESSON, "--duedate=2026-03-15 17:00:00 UTC")
    receive_at(room, {"ada": "2026-03-15T17:00:01+00:00", "bob": "2026-03-15T17:00:00+00:00"})
    nbgrader(room, "autograde", LESSON)
    with Gradebook(f"sqlite:///{room}/gradebook.db") as book:
        found = {name: book.find_submission(LESSON, name) for name in ("ada", "bob")}
        assert (found["ada"].total_seconds_late, found["ada"].late_submission_penalty) == (1, 7)
        assert (found["bob"].total_seconds_late, found["bob"].late_submission_penalty) == (0, 0)
    assert graded_for_formgrader(room) == {"ada", "bob"}
    hand_in(room, "ada", solved(release_of(room)))
    assert graded_for_formgrader(room) == {"bob"}


def test_due_dates_are_set_listed_and_taken_back(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    set_due_date(room)
    assert f"{LESSON}  due 2026-03-15 17:00 UTC" in capsys.readouterr().out
    with Gradebook(f"sqlite:///{room}/gradebook.db") as book:
        assert book.find_assignment(LESSON).duedate == datetime.datetime(2026, 3, 15, 17)
    assert main(["due", str(room), "7", "2026-03-15", "17:00"]) == 0  # without quotes, and as a spreadsheet counts
    assert f"{LESSON}  due 2026-03-15 17:00 UTC" in capsys.readouterr().out
    assert main(["due", str(room), LESSON, "Never"]) == 0
    assert main(["due", str(room)]) == 0
    assert capsys.readouterr().out.count(f"{LESSON}  due never") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("07", "Friday 17:00"), f"{LESSON}: 'Friday 17:00' is no time. Write it like 2026-03-15T17:00:00+00:00."),
        (("07", "0001-01-01T00:00+14:00"), "is no time"),
        (("09", "2026-03-15"), f"There is no lesson '09'. There are: {LESSON}."),
        (("07",), f"Say on which day and at what time {LESSON} is due"),
        (("07", "2026-03-15"), "Say on which day and at what time"),
        (("07", "0026-03-15", "17:00"), "is in the year 26"),
        (("2026-03-15 17:00",), "There is no lesson '2026-03-15 17:00'"),
    ],
)
def test_due_date_that_cannot_be_is_refused(
    graded_pair: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["due", str(graded_pair), *words]) == 2
    assert message in capsys.readouterr().err
    with Gradebook(f"sqlite:///{graded_pair}/gradebook.db") as book:
        assert [(found.name, found.duedate) for found in book.assignments] == [(LESSON, None)]


def test_late_work_costs_nothing_unless_a_plugin_is_chosen(room: Path) -> None:
    set_due_date(room)
    grade_class(room, with_feedback=False)
    assert all(row.late_seconds > 0 and row.late_penalty == 0 for row in read_rows(room))
    assert marks(room)["bob"]["mark_percent"] == "100.0"


def test_same_bytes_keep_their_first_time_and_new_bytes_get_their_own(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["receive", str(room)])
    assert "2 submissions, 2 new" in capsys.readouterr().out
    before = (room / "received.csv").read_text()
    main(["receive", str(room)])
    assert (room / "received.csv").read_text() == before
    hand_in(room, "ada", solved(release_of(room)))
    main(["receive", str(room)])
    assert "2 submissions, 1 new" in capsys.readouterr().out
    assert (room / "received.csv").read_text().count("ada,") == 2


@pytest.mark.parametrize(("seconds", "points"), [(0.5, 1.0), (86_400, 1.0), (86_401, 2.0), (100 * 86_400, 5.0)])
def test_percent_for_each_day_begun_up_to_the_most(seconds: float, points: float) -> None:
    assert PercentPerDay().late_submission_penalty("ada", 10.0, seconds) == points
    assert PercentPerDay(grace_minutes=1).late_submission_penalty("ada", 10.0, 60) is None


def test_extension_for_an_unknown_lesson_is_rejected_with_its_file(room: Path) -> None:
    path = room / "extensions.csv"
    path.write_text("student,lesson,days\nzoe,77,2\n")
    with pytest.raises(ClassroomError, match=rf"extensions.csv, zoe: There is no lesson '77'. There are: {LESSON}"):
        find_extension(path, "ada", LESSON)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ada,07,-3", "ada: '-3' is not a number of days. Write it like 2."),
        ("ada,07,soon", "ada: 'soon' is not a number of days"),
        ("ada,07,1\nada,7,0", f"ada: two lines for {LESSON}. Leave one of them."),
        ("ada;07;1", "the first line is separated by ',', and 'ada;07;1' by something else"),
    ],
)
def test_extensions_that_cannot_be_stop_before_anything_is_graded(
    graded_pair: Path, line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = graded_pair / "extensions.csv"
    path.write_text(f"student,lesson,days\n{line}\n")
    try:
        assert main(["autograde", str(graded_pair), "--again"]) == 2
    finally:
        path.unlink()
    said = capsys.readouterr()
    assert message in said.err and "ada" not in said.out


def test_digest_that_a_spreadsheet_changed_is_rejected(graded_pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = graded_pair / "received.csv"
    before = path.read_text()
    digest = next(word for word in before.replace("\n", ",").split(",") if len(word) == 64)
    path.write_text(before.replace(digest, "1.08E+63"))
    try:
        assert main(["receive", str(graded_pair)]) == 2
        assert "'1.08E+63' is no digest of a file: did a spreadsheet change it?" in capsys.readouterr().err
        assert "1.08E+63" in path.read_text()
    finally:
        path.write_text(before)


def test_notebook_of_another_lesson_waits_for_a_person(room: Path) -> None:
    hand_in(room, "ada", nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")]))
    grade_class(room, with_feedback=False)
    (row,) = [row for row in read_rows(room) if row.student == "ada"]
    assert (row.status, "notebook of another lesson" in row.reason) == (UNREADABLE, True)


def test_invalid_time_is_rejected_with_its_file(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receive_at(room, {"ada": "last Tuesday", "bob": "2026-03-15"})
    assert main(["autograde", str(room), "--no-feedback"]) == 2
    assert "received.csv" in (said := capsys.readouterr().err)
    assert "'last Tuesday' is no time" in said


def test_extension_for_an_unknown_student_is_reported(room: Path) -> None:
    (room / "extensions.csv").write_text("student,lesson,days\nada,07,3\nadda,07,3\n")
    (line,) = strange_extensions(room)
    assert line == "extensions.csv, adda: not on the roster, and handed in nothing. Is the name right?"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            "c.AssignLatePenalties.plugin_class = 'grader.classroom.late.PercentADay'",
            "PercentADay' could not be imported",
        ),
        ("c.AssignLatePenalties.plugin_class = 'builtins.int'", "expected a subclass of"),
        (
            "c.AssignLatePenalties.plugin_class = 'grader.classroom.late.PercentPerDay'\n"
            "c.PercentPerDay.percent_per_day = -3",
            "should not be less than 0.0",
        ),
    ],
)
def test_settings_for_late_work_that_cannot_be_used_stop_before_anything_is_graded(
    graded_pair: Path, line: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = graded_pair / "nbgrader_config.py"
    before = settings.read_text()
    settings.write_text(f"{before}\n{line}\n")
    try:
        assert main(["autograde", str(graded_pair)]) == 2
    finally:
        settings.write_text(before)
    said = capsys.readouterr().err
    assert f"{settings} cannot be used" in said
    assert fault in said
    assert "Correct it there." in said
    assert " at 0x" not in said
