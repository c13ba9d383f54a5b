"""Make a classroom: a native nbgrader course folder, where nbgrader's commands and formgrader work too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from nbformat.notebooknode import NotebookNode

import grader
from grader.classroom.base.configuration import FILE, write_configuration
from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.storage import STATE, write_table, write_text
from grader.classroom.base.tables import read_table
from grader.classroom.gradebook.course import Course, open_course
from grader.classroom.handed_in.roster import read_roster
from grader.classroom.lesson.master import checks_of, chosen_lessons, lessons_of, master_path, read_notebook
from grader.classroom.marks.counted import counted_parts

POINTS = "points.csv"
POINTS_HEADER = ("lesson", "check", "exercise", "points", "part")
FOLDERS = ("source", "release", "submitted")
BUILT = "build"  # git ignores this folder; `make demo` writes there
BuildMaster = Callable[[Path], NotebookNode]


def repository() -> Path:
    """Return the folder that contains the package: the course's repository, if it was installed from there."""
    return Path(grader.__file__).resolve().parents[1]


def lesson_sources() -> dict[str, Path]:
    """Return the course's lessons: name and source.

    Raises:
        ClassroomError: if the package was installed without the repository.
    """
    folder = repository() / "solutions"
    sources = {path.stem: path for path in sorted(folder.glob("[0-9][0-9]_*.py"))}
    if not sources:
        raise ClassroomError(
            f"The lessons' sources are not here ({folder}): this package was installed without its repository. "
            "Clone the repository, run `make setup` there, and run the command from the clone."
        )
    return sources


def make_classroom(
    classroom: Path, lessons: Sequence[str], sources: dict[str, Path] | None = None, build: BuildMaster | None = None
) -> list[str]:
    """Make a classroom, or add lessons to one; what an instructor changed there stays.

    Args:
        classroom: The folder.
        lessons: Names or numbers; empty for all.
        sources: The lessons' sources; the repository's if left out.
        build: Makes a master from a source; the course's own if left out.

    Returns:
        The lessons that were added.
    """
    sources = lesson_sources() if sources is None else sources
    _require_place(classroom)
    chosen = chosen_lessons(lessons, list(sources))
    try:
        for name in FOLDERS:
            (classroom / name).mkdir(parents=True, exist_ok=True)
    except FileNotFoundError as error:  # although the folders above are made first: a place like /proc
        fault = f"{error.filename} cannot be made: {error.strerror}"
        raise ClassroomError(f"{fault}. Name a folder in a place that you may write to.") from None
    write_configuration(classroom)
    added = [lesson for lesson in chosen if not master_path(classroom, lesson).exists()]
    for lesson in added:
        write_text(master_path(classroom, lesson), _master_text(sources[lesson], build))
    bring_up_to_date(classroom)
    return added


def _require_place(classroom: Path) -> None:
    """Refuse a place that is neither a classroom nor fit for a new one."""
    if classroom.exists() and not classroom.is_dir():
        raise ClassroomError(f"{classroom} is a file. Name a folder that is new, empty, or a classroom.")
    if (classroom / FILE).is_file():
        return
    if classroom.is_dir() and any(classroom.iterdir()):
        raise ClassroomError(f"{classroom} has files and is no classroom. Name a new folder.")
    above = (classroom.resolve(), *classroom.resolve().parents)
    if repository() in above and repository() / BUILT not in above:
        raise ClassroomError(
            f"{classroom} is inside the course's repository, where a commit would include submissions and the secret "
            f"of the class. Name a folder elsewhere: python -m grader classroom {Path.home() / classroom.name}"
        )


def _master_text(source: Path, build: BuildMaster | None) -> str:
    import nbformat

    if build is None:
        from grader.authoring.lesson import build_master

        build = build_master
    return str(nbformat.writes(build(source))).rstrip("\n") + "\n"


def bring_up_to_date(classroom: Path, lessons: Sequence[str] = ()) -> Course:
    """Release what changed in `source`, and list its points; return the classroom as nbgrader sees it."""
    course = open_course(classroom)
    course.check_gradebook()
    course.check_settings()
    for lesson in lessons or lessons_of(classroom):
        course.release(lesson)
    write_points(classroom)
    read_roster(classroom)  # a damaged table stops the command before the class is graded, not after it
    return course


def write_points(classroom: Path) -> None:
    """Write `points.csv`: every check of every lesson, its points, and whether it counts as core or further.

    Raises:
        ClassroomError: if somebody edited it, since that changes no points.
    """
    parts = counted_parts(classroom)
    rows = []
    for lesson in lessons_of(classroom):
        for check in checks_of(read_notebook(master_path(classroom, lesson))):
            rows.append((lesson, check.name, check.exercise, f"{check.points:g}", parts[lesson, check.name]))
    path, written = classroom / POINTS, classroom / STATE / POINTS
    if path.exists() and written.exists() and read_table(path) != read_table(written):
        raise ClassroomError(
            f"{path} was edited, and that changes no points: the grader writes it. Give a check other points in "
            f"source/LESSON/LESSON.ipynb (JupyterLab, Create Assignment), say in counted.csv what counts, "
            f"then delete {POINTS} and run the command again."
        )
    for place in (written, path):
        write_table(place, POINTS_HEADER, rows)
