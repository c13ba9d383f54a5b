"""Define the commands `leaderboard`, `report`, `export`, `roster`, `due`, `receive` and `override`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from grader.command_line import count

if TYPE_CHECKING:
    from grader.classroom.handed_in.roster import Student

MOST_NAMES = 20  # on one line
Command = Callable[[argparse.Namespace], int]


def register(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], explained: Callable[[Command], Command]
) -> None:
    """Add the commands to `python -m grader`; `explained` turns errors of the machine into what to do."""
    report = subparsers.add_parser("report", help="write the class report, a page to open in a browser")
    export = subparsers.add_parser("export", help="write the marks for Canvas, Moodle and Gradescope")
    roster = subparsers.add_parser("roster", help="say who is in the class, so that nobody is absent from the marks")
    roster.add_argument("--id", metavar="COLUMN", default="", help="the column that names the students' folders")
    due = subparsers.add_parser("due", help="say when a lesson is due; without a lesson, list what is due when")
    receive = subparsers.add_parser("receive", help="record when submissions came in, without grading them")
    override = subparsers.add_parser("override", help="give the points of one check by hand")
    board = subparsers.add_parser("leaderboard", help="rank the lean runs of the capstone")
    board.add_argument("--anonymous", action="store_true", help="print no names")
    for parser, command in (
        (board, run_leaderboard),
        (report, run_report),
        (export, run_export),
        (roster, run_roster),
        (due, run_due),
        (receive, run_receive),
        (override, run_override),
    ):
        parser.add_argument("directory", metavar="DIR", type=Path)
        parser.set_defaults(func=explained(command))
    roster.add_argument(
        "file",
        metavar="FILE.csv",
        type=Path,
        help="a list of students, Canvas' exported gradebook, or Moodle's grading worksheet",
    )
    due.add_argument("lesson", metavar="LESSON", nargs="?", help='number or name, as "02"')
    due.add_argument(
        "time", metavar="TIME", nargs="*", help='as "2026-03-15 17:00+01:00", UTC without a zone; or never'
    )
    for name in ("student", "lesson", "check"):
        override.add_argument(name, metavar=name.upper())
    override.add_argument("points", metavar="POINTS", type=float)
    override.add_argument("--because", metavar="REASON", required=True, help="one sentence, which the student reads")


def run_report(args: argparse.Namespace) -> int:
    """Write the class report."""
    from grader.classroom.base.configuration import read_configuration
    from grader.classroom.pages.class_report.writing import write_class_report

    read_configuration(args.directory)
    print(f"report    {write_class_report(args.directory)}")
    return 0


def run_leaderboard(args: argparse.Namespace) -> int:
    """Rank the runs of lesson 25 that passed; the figure is in the class report."""
    from grader.classroom.base.configuration import read_configuration
    from grader.classroom.base.row import read_rows
    from grader.classroom.marks.leaderboard import LESSON, leaderboard

    read_configuration(args.directory)
    places = leaderboard(read_rows(args.directory))
    if not places:
        print(f"No run of {LESSON} has passed yet, or none was graded since this version. Run autograde --again.")
        return 0
    print(f"{'':>4}{'peak':>8}{'FLOPs':>8}{'of allowed':>12}  form     on the class's front")
    for rank, place in enumerate(places, start=1):
        name = "" if args.anonymous else f"  {place.student}"
        front = "no" if place.is_beaten else "yes"
        figures = f"{rank:>4}{place.share:>8.1%}{place.flops:>8.2f}{place.of_allowed:>12.1%}"
        print(f"{figures}  {place.form:<9}{front:<4}{name}".rstrip())
    print("peak and FLOPs: over those of the plain run; allowed: the most that the lesson allows at these FLOPs")
    return 0


def run_export(args: argparse.Namespace) -> int:
    """Write the marks for other programs."""
    from grader.classroom.base.configuration import read_configuration
    from grader.classroom.marks.exports import CANVAS_FILE, GRADESCOPE, MOODLE, export_marks

    read_configuration(args.directory)
    students, left_blank = export_marks(args.directory)
    print(count(students, "student"))
    print(f"canvas      {args.directory / CANVAS_FILE}")
    print(f"gradescope  {args.directory / GRADESCOPE}/STUDENT/LESSON/results.json")
    if (args.directory / MOODLE).exists():
        print(f"moodle      {args.directory / MOODLE}/LESSON.csv and LESSON_feedback.zip")
    for line in left_blank:
        print(f"left out for Canvas and Moodle, since a person has to look: {line}")
    _report_strangers(args.directory)
    return 0


def run_roster(args: argparse.Namespace) -> int:
    """Import the roster and bring the marks up to date."""
    from grader.classroom.base.configuration import read_configuration
    from grader.classroom.base.row import MISSING, read_rows
    from grader.classroom.base.storage import only_run
    from grader.classroom.gradebook.recorded import gradebook_url
    from grader.classroom.handed_in.roster import read_roster, students_in, with_canvas_ids, write_roster
    from grader.classroom.marks.report import class_rows, write_marks

    read_configuration(args.directory)
    students = students_in(args.file, args.id)
    with only_run(args.directory):
        before = read_roster(args.directory)
        students = with_canvas_ids(students, before)
        write_roster(args.directory, students.values())
        _name_in_gradebook(gradebook_url(args.directory), students)
        rows = read_rows(args.directory)
        if rows:
            write_marks(args.directory, rows)
    print(f"{count(len(students), 'student')} on the roster: {args.directory / 'roster.csv'}")
    if gone := sorted(set(before) - set(students)):
        print(f"no longer on the roster: {_listed(gone)}")
    missing = [row for row in class_rows(args.directory) if row.status == MISSING] if rows else []
    for lesson in sorted({row.lesson for row in missing}):
        names = [row.student for row in missing if row.lesson == lesson]
        print(f"{lesson}: {len(names)} handed in nothing: {_listed(names)}")
    _report_strangers(args.directory)
    return 0


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MOST_NAMES]) + (" ..." if len(names) > MOST_NAMES else "")


def _name_in_gradebook(url: str, students: dict[str, Student]) -> None:
    """Give formgrader the students' names, where there is a gradebook."""
    if not url:
        return
    from nbgrader.api import Gradebook

    with Gradebook(url) as book:
        for student in students.values():
            last, comma, first = student.name.partition(",")
            names = (first, last) if comma else (student.name.rpartition(" ")[0], student.name.rpartition(" ")[2])
            known = {"first_name": names[0].strip(), "last_name": names[1].strip(), "email": student.email}
            book.update_or_create_student(student.student, **{key: text for key, text in known.items() if text})


def _report_strangers(classroom: Path) -> None:
    from grader.classroom.base.row import read_rows
    from grader.classroom.handed_in.roster import by_another_number, read_roster, strangers

    roster, rows = read_roster(classroom), read_rows(classroom)
    is_mixed = any(row.student in roster for row in rows)  # another column would lose these
    for name in strangers(rows, roster):
        column, student = by_another_number(name, roster)
        remedy = "Add a line to roster.csv, or rename the folder"
        if column:
            renamed = f"By {column} this is {student}: rename the folder to that"
            remedy = renamed if is_mixed else f"Import the list again with --id '{column}'"
        print(f"not on the roster: {name} handed in work. {remedy}.")


def run_due(args: argparse.Namespace) -> int:
    """Set or list when lessons are due."""
    from grader.classroom.gradebook.deadlines import NEVER, due_times, set_due

    if args.lesson:
        set_due(args.directory, args.lesson, " ".join(args.time))
    for lesson, time in due_times(args.directory).items():
        shown = f"{time:%Y-%m-%d %H:%M} UTC, here {time.astimezone():%Y-%m-%d %H:%M}" if time else NEVER
        print(f"{lesson}  due {shown}")
    if args.lesson:
        print(f"Counts from the next grading on: python -m grader autograde {args.directory}")
    return 0


def run_receive(args: argparse.Namespace) -> int:
    """Record when submissions came in."""
    from grader.classroom.base.configuration import read_configuration
    from grader.classroom.base.storage import only_run
    from grader.classroom.handed_in.intake import find_submissions
    from grader.classroom.handed_in.received import FILE, received_times, stamp
    from grader.classroom.lesson.master import lessons_of

    read_configuration(args.directory)
    with only_run(args.directory):
        before = len(received_times(args.directory))
        submitted = args.directory / "submitted"
        found = [sub for lesson in lessons_of(args.directory) for sub in find_submissions(submitted, lesson)]
        after = len(stamp(args.directory, found))
    print(f"{count(len(found), 'submission')}, {after - before} new: {args.directory / FILE}")
    return 0


def run_override(args: argparse.Namespace) -> int:
    """Give the points of one check by hand."""
    from .override import override_points
    from .screen_lines import row_lines

    words = (args.student, args.lesson, args.check, args.points, args.because)
    row = override_points(args.directory, *words)
    print("\n".join(row_lines(row)))
    print(f"{args.check}: {args.points:g} points by hand. Marks, gradebook, feedback and report are up to date.")
    return 0
