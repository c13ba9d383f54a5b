"""Spread the lessons over the weeks or days of a course, from what each lesson states in its first cell."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import AuthoringError, BuildError, Problem
from .source import read_source

STATED = re.compile(
    r"^(?P<core>\d+) min(?:, and (?P<further>\d+) min for Further)? \(\w+\) · [^·\n]+ · "
    r"(?:the first lesson|after lessons? (?P<after>\d\d)(?: (?P<joined>to|and) (?P<last>\d\d))?)$",
    re.MULTILINE,
)
REMEDY = "Write a line such as '60 min (estimated) · CPU is enough · after lesson 08' into the first cell"
DAY_MINUTES = 360  # six hours of lessons in a course of one day
FOLD = 75  # octets that RFC 5545 allows in one line, without its end


@dataclass(frozen=True)
class PlannedLesson:
    """What a lesson states about its place in a course.

    Attributes:
        stem: Its name in every folder, for example "02_gradient_accumulation".
        title: The heading of its first cell, with its number.
        minutes: The stated time without Further.
        further_minutes: The stated time of Further; 0 if none is stated.
        after: The numbers of the lessons that it builds on.
    """

    stem: str
    title: str
    minutes: int
    further_minutes: int
    after: tuple[str, ...]

    @property
    def number(self) -> str:
        """The number of the lesson, for example "02"."""
        return self.stem[:2]


def read_planned(sources: Sequence[Path]) -> list[PlannedLesson]:
    """Read what each lesson states in its first cell.

    Args:
        sources: The sources, in any order.

    Returns:
        The lessons by number, so that each comes after those that it builds on.

    Raises:
        BuildError: if a first cell lacks the line, or names a lesson that is missing or does not come before.
    """
    problems, lessons = [], []
    numbers = {path.name[:2] for path in sources}
    for path in sorted(sources, key=lambda source: source.name):
        text = read_source(path)[0].source
        found = STATED.search(text)
        if found is None:
            problems.append(Problem(path, 1, "the first cell does not state minutes and what it builds on", REMEDY))
            continue
        first, last = found["after"], found["last"] or found["after"]
        step = max(1, int(last) - int(first)) if found["joined"] == "and" else 1
        after = tuple(f"{number:02}" for number in range(int(first), int(last) + 1, step)) if first else ()
        for number in after:
            if number not in numbers or number >= path.name[:2]:
                fault = f"it builds on lesson {number}, which is not an earlier lesson"
                problems.append(Problem(path, 1, fault, "Name a lesson that comes before it"))
        title = text.strip().splitlines()[0].lstrip("# ")
        lessons.append(PlannedLesson(path.stem, title, int(found["core"]), int(found["further"] or 0), after))
    if problems:
        raise BuildError(problems)
    return lessons


def spread(lessons: Sequence[PlannedLesson], meetings: int) -> list[list[PlannedLesson]]:
    """Spread lessons over meetings in their order, so that the longest meeting is as short as can be.

    Raises:
        AuthoringError: if there are more meetings than lessons.
    """
    if meetings > len(lessons):
        message = f"{meetings} meetings are more than the {len(lessons)} lessons. Ask for fewer."
        raise AuthoringError(message)
    longest = next(
        limit
        for limit in range(max(lesson.minutes for lesson in lessons), sum(lesson.minutes for lesson in lessons) + 1)
        if len(_fill(lessons, limit, meetings)) <= meetings
    )
    return _fill(lessons, longest, meetings)


def _fill(lessons: Sequence[PlannedLesson], limit: int, meetings: int) -> list[list[PlannedLesson]]:
    """Fill one meeting after the other up to a limit, and leave a lesson for each meeting that remains."""
    filled: list[list[PlannedLesson]] = [[]]
    for place, lesson in enumerate(lessons):
        full = sum(other.minutes for other in filled[-1]) + lesson.minutes > limit
        if filled[-1] and (full or len(lessons) - place <= meetings - len(filled)):
            filled.append([])
        filled[-1].append(lesson)
    return filled


def select_day(lessons: Sequence[PlannedLesson], minutes: int) -> list[PlannedLesson]:
    """Return the first lessons that fit into the minutes of one day."""
    chosen, spent = [], 0
    for lesson in lessons:
        spent += lesson.minutes
        if spent > minutes:
            break
        chosen.append(lesson)
    return chosen


def write_markdown(meetings: Sequence[Sequence[PlannedLesson]], unit: str) -> str:
    """Write a plan as a Markdown table.

    Args:
        meetings: The lessons of each meeting.
        unit: "week" or "day".
    """
    rows = [f"| {unit} | lessons | minutes | Further, where stated |", "|---|---|---|---|"]
    for number, lessons in enumerate(meetings, start=1):
        minutes = sum(lesson.minutes for lesson in lessons)
        further = sum(lesson.further_minutes for lesson in lessons)
        titles = "; ".join(lesson.title for lesson in lessons)
        rows.append(f"| {number} | {titles} | {minutes} | {further or 'not stated'} |")
    return "\n".join(rows) + "\n"


def write_calendar(meetings: Sequence[Sequence[PlannedLesson]], unit: str, start: dt.date, stamp: dt.datetime) -> str:
    """Write a plan as iCalendar, RFC 5545: one all-day event for each meeting.

    Args:
        meetings: The lessons of each meeting.
        unit: "week" or "day".
        start: The day of the first meeting.
        stamp: When the calendar was made, in UTC.
    """
    step = dt.timedelta(weeks=1) if unit == "week" else dt.timedelta(days=1)
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Lean Training//plan//EN"]
    for number, lessons in enumerate(meetings):
        day = start + number * step
        lines += [
            "BEGIN:VEVENT",
            f"UID:{start:%Y%m%d}-{unit}-{number + 1}@lean-training",
            f"DTSTAMP:{stamp:%Y%m%dT%H%M%SZ}",
            f"DTSTART;VALUE=DATE:{day:%Y%m%d}",
            f"SUMMARY:{_escape('; '.join(lesson.title for lesson in lessons))}",
            f"DESCRIPTION:{_escape(f'{sum(lesson.minutes for lesson in lessons)} minutes as the lessons state')}",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return "".join(f"{_fold(line)}\r\n" for line in lines)


def _escape(text: str) -> str:
    return re.sub(r"([\\;,])", r"\\\1", text).replace("\n", "\\n")


def _fold(line: str) -> str:
    """Break a line after at most 75 octets, never inside a character; each further line starts with a space."""
    folded, width = "", 0
    for character in line:
        octets = len(character.encode())
        if width + octets > FOLD:
            folded, width = f"{folded}\r\n ", 1
        folded, width = folded + character, width + octets
    return folded
