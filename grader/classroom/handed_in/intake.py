"""Find what each student handed in, without raising for any of it and without following links."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .reading import LearnerCell, Unreadable, parse_cells, read_plain_file

NOTEBOOK = ".ipynb"  # also inside a longer name: browsers save NAME.ipynb.txt and NAME.ipynb.json


@dataclass(frozen=True)
class Submission:
    """The submission of one student to one lesson.

    Attributes:
        student: The student's id: the name of the folder.
        lesson: The lesson's name.
        file: The file that counts, relative to the folder `submitted`.
        digest: SHA-256 of its bytes, or "".
        cells: Its cells.
        unreadable: Why there are no cells, or "".
        notes: What the instructor may want to know.
    """

    student: str
    lesson: str
    file: str = ""
    digest: str = ""
    cells: tuple[LearnerCell, ...] = ()
    unreadable: str = ""
    notes: tuple[str, ...] = ()


def find_submissions(submitted: Path, lesson: str) -> list[Submission]:
    """Return one submission per student who handed in anything for the lesson, even an unreadable one."""
    found: dict[str, Submission] = {}
    for folder in student_folders(submitted):
        place = _place(folder, lesson)
        student = folder.name.strip()  # nbgrader strips the ids of students
        if place is not None and student not in found:
            found[student] = _read(student, lesson, place, submitted)
    return list(found.values())


def find_submission(submitted: Path, lesson: str, student: str) -> Submission | None:
    """Return what one student handed in for the lesson; None if nothing."""
    direct = submitted / student
    folders = (
        [direct] if direct.is_dir() else [path for path in student_folders(submitted) if path.name.strip() == student]
    )
    places = (_place(folder, lesson) for folder in folders)
    return next((_read(student, lesson, place, submitted) for place in places if place is not None), None)


def student_folders(submitted: Path) -> Iterator[Path]:
    """Yield the folders of students, by name; links to folders too, since they get a row with the reason."""
    if submitted.is_dir():
        for entry in sorted(submitted.iterdir()):
            if not entry.name.startswith(".") and (entry.is_dir() or entry.is_symlink()):
                yield entry


def left_out(submitted: Path, lessons: list[str]) -> list[str]:
    """Return a line for each thing in `submitted` that belongs to no student or no lesson."""
    lines = []
    for entry in sorted(submitted.iterdir()) if submitted.is_dir() else []:
        if entry.is_file() and not entry.name.startswith("."):
            lines.append(f"submitted/{entry.name}: not in a student's folder. Move it to submitted/STUDENT/LESSON/.")
    for folder in student_folders(submitted):
        if not any(_place(folder, lesson) for lesson in lessons):
            lines.append(
                f"submitted/{folder.name}: holds no lesson of this classroom. Call its folder {' or '.join(lessons)}."
            )
            continue
        for place in [] if folder.is_symlink() else _folders(folder):
            if place.name not in lessons and not place.name.startswith(".") and _notebooks(place):
                lines.append(
                    f"submitted/{folder.name}/{place.name}: no lesson of this classroom is called so, and its notebook "
                    "was not graded. Give the folder the lesson's name."
                )
    return lines


def _place(folder: Path, lesson: str) -> Path | None:
    """Return the place of a student's submission: the lesson's folder, or a notebook put next to it by mistake."""
    place = folder / lesson
    if place.is_symlink() or place.exists():
        return place
    if folder.is_symlink():
        return None
    return next(iter(sorted(path for path in _notebooks(folder) if lesson in path.name)), None)


def _read(student: str, lesson: str, place: Path, submitted: Path) -> Submission:
    file = place
    try:
        _refuse_links(place, submitted)
        file, notes = _choose(place, lesson)
        content = read_plain_file(file)
        digest = hashlib.sha256(content).hexdigest()
        file_name = str(file.relative_to(submitted))
        try:
            return Submission(student, lesson, file_name, digest, parse_cells(content), notes=notes)
        except Unreadable as error:
            return Submission(student, lesson, file_name, digest, unreadable=str(error), notes=notes)
    except Unreadable as error:
        return Submission(student, lesson, str(file.relative_to(submitted)), unreadable=str(error))
    except OSError as error:
        reason = f"{file.name} cannot be read: {error.strerror}"
        return Submission(student, lesson, str(file.relative_to(submitted)), unreadable=reason)


def _refuse_links(place: Path, submitted: Path) -> None:
    for path in (place.parent, place):
        if path != submitted and path.is_symlink():
            raise Unreadable(f"{path.relative_to(submitted)} is a link; a link is never followed. Ask for the files.")


def _choose(place: Path, lesson: str) -> tuple[Path, tuple[str, ...]]:
    """Choose the notebook that counts: the right name, else a name that contains it, else the only or newest one."""
    if not place.is_dir():
        return place, ()
    exact = place / f"{lesson}{NOTEBOOK}"
    candidates = _notebooks(place) or [path for folder in _folders(place) for path in _notebooks(folder)]
    if exact in candidates:
        chosen, note = exact, ""
    elif not candidates:
        raise Unreadable(_nothing_found(place))
    else:
        named = [path for path in candidates if lesson in path.name] or candidates
        chosen = max(named, key=lambda path: (path.lstat().st_mtime, path.name))
        note = f"{chosen.name} was taken for {lesson}{NOTEBOOK}"
    others = [path.name for path in candidates if path != chosen]
    more = f"{chosen.name} counts; also there: {', '.join(others[:5])}" if others else ""
    return chosen, tuple(text for text in (note, more) if text)


def _notebooks(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if NOTEBOOK in path.name.lower() and not path.name.startswith("."))


def _folders(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if path.is_dir() and not path.is_symlink())


def _nothing_found(place: Path) -> str:
    names = [path.name for path in sorted(place.iterdir()) if not path.name.startswith(".")]
    if not names:
        return "the folder is empty: nothing was handed in."
    return f"the folder holds no notebook, only {', '.join(names[:5])}. Ask for the {NOTEBOOK} file (unpack archives)."
