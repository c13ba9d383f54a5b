"""Find what each student handed in, without raising for any of it and without following links."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.classroom.base.storage import plain_name

from .reading import LearnerCell, Unreadable, parse_cells, read_plain_file

NOTEBOOK = ".ipynb"  # also inside a longer name: browsers save NAME.ipynb.txt and NAME.ipynb.json


@dataclass(frozen=True)
class Submission:
    """The submission of one student to one lesson.

    Attributes:
        student: The student's id: the name of the folder, in printable characters.
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
        student = student_of(folder)
        if place is None:
            continue
        if student in found:  # an exact name comes first
            again = f"submitted/{plain_name(folder.name)!r} is a folder of the same student, and was not graded"
            found[student] = replace(found[student], notes=(*found[student].notes, again))
        else:
            found[student] = _read(student, lesson, place, submitted)
    return list(found.values())


def student_of(folder: Path) -> str:
    """Return the id of the student whose folder this is; nbgrader strips the ids of students."""
    return plain_name(folder.name).strip()


def find_submission(submitted: Path, lesson: str, student: str) -> Submission | None:
    """Return what one student handed in for the lesson; None if nothing."""
    direct = submitted / student
    folders = (
        [direct] if direct.is_dir() else [path for path in student_folders(submitted) if student_of(path) == student]
    )
    places = (_place(folder, lesson) for folder in folders)
    return next((_read(student, lesson, place, submitted) for place in places if place is not None), None)


def student_folders(submitted: Path) -> Iterator[Path]:
    """Yield the folders of students, by name; links to folders too, since they get a row with the reason."""
    if submitted.is_dir():
        for entry in sorted(submitted.iterdir(), key=lambda path: (path.name.strip(), path.name)):
            if not entry.name.startswith(".") and (entry.is_dir() or entry.is_symlink()):
                yield entry


def left_out(submitted: Path, lessons: list[str]) -> list[str]:
    """Return a line for each thing in `submitted` that belongs to no student or no lesson."""
    lines = []
    for entry in sorted(submitted.iterdir()) if submitted.is_dir() else []:
        name = plain_name(entry.name)
        if entry.is_file() and not entry.name.startswith("."):
            lines.append(f"submitted/{name}: not in a student's folder. Move it to submitted/STUDENT/LESSON/.")
        elif entry.name.startswith(".") and any((entry / lesson).is_dir() for lesson in lessons):
            lines.append(f"submitted/{name}: a hidden folder is not graded. Rename it if it is a student's.")
    for folder in student_folders(submitted):
        name = f"submitted/{plain_name(folder.name)}"
        if not any(_place(folder, lesson) for lesson in lessons):
            lines.append(f"{name}: holds no lesson of this classroom. Call its folder {' or '.join(lessons)}.")
            continue
        for place in [] if folder.is_symlink() else _folders(folder):
            if place.name not in lessons and not place.name.startswith(".") and _notebooks(place):
                lines.append(
                    f"{name}/{plain_name(place.name)}: no lesson of this classroom is called so, and its notebook "
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
    file, notes = place, _odd_name(student, submitted / place.relative_to(submitted).parts[0])
    found = Submission(student, lesson)
    try:
        _refuse_links(place, submitted)
        file, more = _choose(place, lesson)
        content = read_plain_file(file)
        found = replace(found, digest=hashlib.sha256(content).hexdigest(), notes=notes + more)
        found = replace(found, cells=parse_cells(content))
    except Unreadable as error:
        found = replace(found, unreadable=plain_name(str(error)))
    except OSError as error:
        found = replace(found, unreadable=f"{plain_name(file.name)} cannot be read: {error.strerror}")
    return replace(found, file=plain_name(str(file.relative_to(submitted))))


def _odd_name(student: str, folder: Path) -> tuple[str, ...]:
    """Return a note on a folder whose name had to be written in another way."""
    return () if folder.name.strip() == student else (f"the folder's name is odd: it is listed as {student}",)


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
        note = f"{plain_name(chosen.name)} was taken for {lesson}{NOTEBOOK}"
    others = [plain_name(path.name) for path in candidates if path != chosen]
    more = f"{plain_name(chosen.name)} counts; also there: {', '.join(others[:5])}" if others else ""
    return chosen, tuple(text for text in (note, more) if text)


def _notebooks(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if NOTEBOOK in path.name.lower() and not path.name.startswith("."))


def _folders(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if path.is_dir() and not path.is_symlink())


def _nothing_found(place: Path) -> str:
    names = [plain_name(path.name) for path in sorted(place.iterdir()) if not path.name.startswith(".")]
    if not names:
        return "the folder is empty: nothing was handed in."
    return f"the folder holds no notebook, only {', '.join(names[:5])}. Ask for the {NOTEBOOK} file (unpack archives)."
