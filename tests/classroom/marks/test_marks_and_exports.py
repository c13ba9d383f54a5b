"""Nobody of the roster is absent from the marks, and other programs can read them."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from large_class import make_awkward, make_rows, score_of
from nbgrader.api import Gradebook
from small_course import LESSON

from grader.__main__ import main
from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import GRADED, Row, read_rows
from grader.classroom.commands.folder import bring_up_to_date
from grader.classroom.commands.screen_lines import summary_lines
from grader.classroom.handed_in.roster import read_roster, students_in
from grader.classroom.marks.counted import counted_parts
from grader.classroom.marks.exports import export_marks, gradescope_results, write_canvas
from grader.classroom.marks.report import write_report
from grader.questions import STEMS

CANVAS_EXPORT = """\
Student,ID,SIS User ID,SIS Login ID,Section,Homework (17),Current Score
    Points Possible,,,,,10,(read only)
"Lovelace, Ada",101,S1,ada,Tuesday,9,90
"Turing, Alan",102,S2,alan,Monday,,
"Student, Test",999,,abcdef,Monday,,
"""


@pytest.fixture
def room(new_room: Callable[[], Path]) -> Path:
    return new_room()


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def row_of(student: str, *passed: str, **more: object) -> Row:
    names = ("check_double", "check_triple", "check_guess")
    return replace(
        Row(student, LESSON, GRADED, "", [score_of(name, name in passed, "squared") for name in names]), **more
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("student,name,email,section\nada,Ada Lovelace,ada@x.org,A\n", ("ada", "Ada Lovelace", "ada@x.org", "A")),
        (
            "Last name;First-Name;E-Mail;Student ID\nLovelace;Ada;ada@x.org;ada\n",
            ("ada", "Ada Lovelace", "ada@x.org", ""),
        ),
        ("\ufeffEmail\tName\nada@x.org\tAda\n", ("ada@x.org", "Ada", "ada@x.org", "")),
        (CANVAS_EXPORT, ("ada", "Lovelace, Ada", "", "Tuesday")),
    ],
)
def test_list_of_students_is_read_in_any_common_form(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    path = tmp_path / "list.csv"
    path.write_text(text)
    student = next(iter(students_in(path).values()))
    assert (student.student, student.name, student.email, student.section) == expected


def test_canvas_gradebook_gives_students_and_ids_and_no_other_lines(tmp_path: Path) -> None:
    path = tmp_path / "canvas.csv"
    path.write_text(CANVAS_EXPORT)
    students = students_in(path)
    assert list(students) == ["ada", "alan"]
    assert (students["alan"].canvas_id, students["alan"].sis_user_id) == ("102", "S2")
    assert list(students_in(path, "SIS User ID")) == ["S1", "S2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grade,colour\n1,red\n", "no column that names the students: grade, colour"),
        ("", "is empty"),
        ("student\nada\nada\n", "two students have the id 'ada'"),
        ("student\n../ada\n", "cannot name a folder"),
        ("student;name\nada,Ada\n", "the first line is separated by ';', and 'ada,Ada' by something else"),
        ("student\n\xe9".encode("latin-1"), "not UTF-8"),
    ],
)
def test_list_that_cannot_be_a_roster_is_refused_with_the_remedy(
    room: Path, tmp_path: Path, text: str | bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "list.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main(["roster", str(room), str(path)]) == 2
    assert message in capsys.readouterr().err
    assert not (room / "roster.csv").exists()


def test_student_who_handed_in_nothing_has_a_row_and_a_stranger_is_reported(
    room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(room, [row_of("ada", "check_double"), row_of("eve", "check_double")])
    (tmp_path / "canvas.csv").write_text(CANVAS_EXPORT)
    assert main(["roster", str(room), str(tmp_path / "canvas.csv")]) == 0
    said = capsys.readouterr().out
    assert f"{LESSON}: 1 handed in nothing: alan" in said
    assert "not on the roster: eve" in said
    marks = {line["student"]: line for line in table(room / "marks.csv")}
    assert (marks["alan"]["status"], marks["alan"]["reason"], marks["alan"]["core_maximum"]) == (
        "missing",
        "not handed in",
        "5",
    )
    assert marks["alan"]["mark_percent"] == "0.0"
    assert "not on the roster" in marks["eve"]["reason"]
    summary = summary_lines(read_rows(room), room)
    assert summary[1:3] == ["1 student on the roster without a submission: 1 row of missing", "not on the roster: eve"]
    assert [row.student for row in read_rows(room)] == ["ada", "eve"]  # grading.json holds what was graded
    with Gradebook(f"sqlite:///{room}/gradebook.db") as book:
        assert (book.find_student("ada").first_name, book.find_student("ada").last_name) == ("Ada", "Lovelace")
    write_report(room, [row_of("ada"), row_of("eve"), row_of("alan", "check_triple")])
    assert {line["student"]: line["status"] for line in table(room / "marks.csv")}["alan"] == "graded"


def test_a_folder_named_by_another_number_of_canvas_is_reported_with_the_column(
    room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(room, [row_of("102")])
    (tmp_path / "canvas.csv").write_text(CANVAS_EXPORT)
    main(["roster", str(room), str(tmp_path / "canvas.csv")])
    assert "not on the roster: 102 handed in work. Import the list again with --id 'ID'." in capsys.readouterr().out
    main(["roster", str(room), str(tmp_path / "canvas.csv"), "--id", "ID"])
    assert "not on the roster" not in capsys.readouterr().out


def test_one_folder_by_another_number_is_reported_with_its_student(
    room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_report(room, [row_of("ada"), row_of("102")])
    (tmp_path / "canvas.csv").write_text(CANVAS_EXPORT)
    main(["roster", str(room), str(tmp_path / "canvas.csv")])
    assert "102 handed in work. By ID this is alan: rename the folder to that." in capsys.readouterr().out


def test_a_new_list_says_who_went_and_keeps_what_canvas_said(
    room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "canvas.csv").write_text(CANVAS_EXPORT)
    (tmp_path / "plain.csv").write_text("student;name\nada;Ada\n")
    main(["roster", str(room), str(tmp_path / "canvas.csv")])
    main(["roster", str(room), str(tmp_path / "plain.csv")])
    said = capsys.readouterr().out
    assert "1 student on the roster" in said and "no longer on the roster: alan" in said
    assert (read_roster(room)["ada"].canvas_id, read_roster(room)["ada"].name) == ("101", "Ada")


def test_no_text_of_a_learners_becomes_a_formula_of_a_spreadsheet(room: Path) -> None:
    write_report(room, [row_of("=1+1", reason='=HYPERLINK("http://example.org").ipynb was taken for the lesson')])
    assert table(room / "marks.csv")[0]["reason"].startswith("'=HYPERLINK")
    assert table(room / "marks.csv")[0]["student"] == "'=1+1"


def test_names_in_the_table_for_canvas_are_no_formulas(room: Path, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("student,name,section\n=1+1,@SUM(A1),+1\n")
    main(["roster", str(room), str(tmp_path / "list.csv")])
    write_report(room, [row_of("=1+1", "check_double")])
    export_marks(room)
    assert (room / "canvas.csv").read_text().splitlines()[2] == "'@SUM(A1),,,'=1+1,'+1,2"


def test_canvas_table_has_the_columns_that_its_import_reads(room: Path, tmp_path: Path) -> None:
    (tmp_path / "canvas.csv").write_text(CANVAS_EXPORT)
    main(["roster", str(room), str(tmp_path / "canvas.csv")])
    write_report(room, [row_of("ada", "check_double", "check_guess"), row_of("eve", "check_triple")])
    count, left_blank = export_marks(room)
    assert (count, left_blank) == (3, [])
    lines = (room / "canvas.csv").read_text().splitlines()
    assert lines[0] == f"Student,ID,SIS User ID,SIS Login ID,Section,{LESSON}"
    assert lines[1] == "    Points Possible,,,,,5"
    assert lines[2:] == ['"Lovelace, Ada",101,S1,ada,Tuesday,2', '"Turing, Alan",102,S2,alan,Monday,0', "eve,,,eve,,3"]
    assert read_roster(room).keys() == students_in(room / "canvas.csv").keys() - {"eve"}  # and is a roster again


def test_mark_that_waits_for_a_person_is_left_blank_and_reported(room: Path) -> None:
    write_report(room, make_awkward(make_rows(2)))
    _, left_blank = export_marks(room)
    marks = {line["Student"]: line[LESSON] for line in table(room / "canvas.csv")}
    assert (marks["cheat"], marks["ranks"], marks["broken"], marks["cut"]) == ("", "", "", "0")
    assert left_blank == [
        f"broken {LESSON}: check_double, check_triple",
        f"cheat {LESSON}: check_double",
        f"ranks {LESSON}: check_triple",
    ]
    assert marks["essay"] != ""  # a further check waits, and it does not count in the mark


def test_gradescope_results_have_the_fields_of_its_schema(room: Path) -> None:
    write_report(room, [row_of("ada", "check_triple", late_penalty=0.0)])
    export_marks(room)
    results = json.loads((room / "gradescope" / "ada" / LESSON / "results.json").read_text())
    assert (results["score"], results["visibility"], results["output_format"]) == (3, "visible", "text")
    tests = {test["name"]: test for test in results["tests"]}
    assert list(tests) == ["check_double", "check_triple", "check_guess (further)"]
    assert (tests["check_triple"]["status"], tests["check_triple"]["score"], tests["check_triple"]["max_score"]) == (
        "passed",
        3,
        3,
    )
    assert tests["check_double"]["status"] == "failed"
    assert tests["check_double"]["output"].splitlines() == [
        "squared",
        "expected  8",
        "measured  16",
        "look at   the number is squared, not doubled",
    ]
    known = {"name", "score", "max_score", "status", "output", "output_format", "visibility", "execution_time"}
    assert set().union(*tests.values()) <= known


def test_penalty_is_shared_between_core_and_further_points() -> None:
    row = row_of("ada", "check_double", "check_guess", late_penalty=1.5)  # 2 core and 4 further points
    assert (row.core_penalty, row.mark_points, row.mark_percent) == (0.5, 1.5, 30.0)
    assert gradescope_results(row)["score"] == 1.5
    assert row_of("bob", "check_guess", late_penalty=1.0).mark_points == 0


def test_chosen_checks_make_the_mark(room: Path) -> None:
    (room / "counted.csv").write_text("lesson,check,counts\n07,triple,no\n07_small_numbers,check_guess,yes\n")
    bring_up_to_date(room)
    assert [line["part"] for line in table(room / "points.csv")] == ["core", "further", "core"]
    write_report(room, [row_of("ada", "check_double", "check_triple")])
    line = table(room / "marks.csv")[0]
    assert (line["core_points"], line["core_maximum"], line["mark_percent"], line["further_points"]) == (
        "2",
        "6",
        "33.3",
        "3",
    )
    (room / "counted.csv").unlink()
    write_report(room, read_rows(room))
    assert table(room / "marks.csv")[0]["mark_percent"] == "100.0"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("07,check_four,yes", "There are: check_double (double), check_triple (triple), check_guess (guess)"),
        ("99,check_double,yes", "There is no lesson '99'"),
        ("07,check_double,maybe", 'Write "yes" or "no"'),
    ],
)
def test_unknown_choice_stops_before_the_class_is_graded(room: Path, line: str, message: str) -> None:
    (room / "counted.csv").write_text(f"lesson,check,counts\n{line}\n")
    with pytest.raises(ClassroomError) as caught:
        counted_parts(room)
    assert message in str(caught.value)
    assert main(["autograde", str(room)]) == 2


def test_rows_of_a_later_version_are_read(room: Path) -> None:
    write_report(room, [row_of("ada", "check_double")])
    path = room / "grading.json"
    report = json.loads(path.read_text())
    report["submissions"][0] |= {"sandbox": "namespaces", "peak_bytes": 5, "invented_later": [1]}
    path.write_text(json.dumps(report))
    row = read_rows(room)[0]
    assert (row.student, row.sandbox, row.peak_bytes) == ("ada", "namespaces", 5)


def test_the_concept_inventory_is_no_column_of_the_table_for_canvas(tmp_path: Path) -> None:
    rows = make_rows(2)
    rows += [replace(row, lesson=stem) for row in rows for stem in STEMS.values()]
    write_canvas(tmp_path / "canvas.csv", rows, {})
    header = (tmp_path / "canvas.csv").read_text(encoding="utf-8-sig").splitlines()[0]
    assert header.endswith(f",Section,{LESSON}")


def test_moodle_imports_grades_and_feedback_by_its_participant_numbers(room: Path, tmp_path: Path) -> None:
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(
        "Identifier,Full name,Email address,Grade,Last modified (grade)\n"
        "Participant 7070,Ada Byron_Lovelace,ada@x.org,,-\nParticipant 7071,Alan Turing,alan@x.org,,-\n"
    )
    assert main(["roster", str(room), str(worksheet)]) == 0
    (room / "feedback").mkdir()
    (room / "feedback" / "page.html").write_text("<p>Well done.</p>")
    waiting = replace(score_of("check_double", False, "tampered"), points=None, verdict="tampered", needs_review=True)
    rows = [row_of("7070", "check_double", feedback="feedback/page.html"), replace(row_of("7071"), checks=[waiting])]
    write_report(room, rows)
    _, left_out = export_marks(room)
    assert table(room / "moodle" / f"{LESSON}.csv") == [
        {
            "Identifier": "Participant 7070",
            "Full name": "Ada Byron_Lovelace",
            "Email address": "ada@x.org",
            "Grade": "2",
            "Maximum grade": "5",
            "Last modified (grade)": "-",
        }
    ]
    assert left_out == [f"7071 {LESSON}: check_double"]
    with zipfile.ZipFile(room / "moodle" / f"{LESSON}_feedback.zip") as pages:
        assert pages.namelist() == [f"Ada Byron Lovelace_7070_assignfeedback_file/{LESSON}.html"]
        assert pages.read(pages.namelist()[0]) == b"<p>Well done.</p>"
    (room / "feedback" / "page.html").unlink()
    export_marks(room)
    with zipfile.ZipFile(room / "moodle" / f"{LESSON}_feedback.zip") as pages:
        assert pages.namelist() == []


def test_numbers_of_canvas_are_no_participants_of_moodle(room: Path, tmp_path: Path) -> None:
    (tmp_path / "canvas.csv").write_text(CANVAS_EXPORT)
    assert main(["roster", str(room), str(tmp_path / "canvas.csv"), "--id", "ID"]) == 0
    write_report(room, [row_of("101")])
    export_marks(room)
    assert not (room / "moodle").exists()


def test_nobody_is_missing_before_a_lesson_is_due(room: Path, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("student\nada\nalan\n")
    assert main(["roster", str(room), str(tmp_path / "list.csv")]) == 0
    for due, students in (("2100-01-01 12:00", ["ada"]), ("2026-01-01 12:00", ["ada", "alan"])):
        assert main(["due", str(room), LESSON, due]) == 0
        write_report(room, [row_of("ada")])
        assert [line["student"] for line in table(room / "marks.csv")] == students
