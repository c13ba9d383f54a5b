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
DAY_MINUTES = 360  # six hours of lessons in one day
WEEK_MINUTES = 180  # a meeting of a week that is longer draws a warning
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
        further: The exercises of its section Further.
    """

    stem: str
    title: str
    minutes: int
    further_minutes: int
    after: tuple[str, ...]
    further: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        """The number of the lesson, for example "02"."""
        return self.stem[:2]

    @property
    def homework(self) -> str:
        """The exercises of Further with the lesson's number, and the minutes if they are stated."""
        minutes = f" ({self.further_minutes} min)" if self.further_minutes else ""
        return f"{self.number}{minutes} {', '.join(f'`{name}`' for name in self.further)}"


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
        cells = read_source(path)
        text = cells[0].source
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
        start = next((place for place, cell in enumerate(cells) if "further" in cell.tags), len(cells))
        further = tuple(cell.exercise for cell in cells[start:] if cell.exercise)
        lessons.append(PlannedLesson(path.stem, title, int(found["core"]), int(found["further"] or 0), after, further))
    if problems:
        raise BuildError(problems)
    return lessons


def spread(
    lessons: Sequence[PlannedLesson], meetings: int, minutes: int | None = None
) -> tuple[list[list[PlannedLesson]], list[PlannedLesson]]:
    """Spread lessons over meetings in their order, so that the longest meeting is as short as can be.

    Args:
        lessons: By number.
        meetings: How many there are.
        minutes: What one meeting holds; no limit if left out. A lesson that is longer has a meeting for itself.

    Returns:
        The lessons of each meeting, and those for which the meetings have no time.

    Raises:
        AuthoringError: if there are more meetings than lessons.
    """
    if meetings > len(lessons):
        message = f"{meetings} meetings are more than the {len(lessons)} lessons. Ask for fewer."
        raise AuthoringError(message)
    if minutes and len(full := fill(lessons, minutes)) > meetings:
        return full[:meetings], [lesson for meeting in full[meetings:] for lesson in meeting]
    longest = next(
        limit
        for limit in range(max(lesson.minutes for lesson in lessons), sum(lesson.minutes for lesson in lessons) + 1)
        if len(fill(lessons, limit, meetings)) <= meetings
    )
    return fill(lessons, min(longest, minutes or longest), meetings), []


def fill(lessons: Sequence[PlannedLesson], limit: int, meetings: int = 1) -> list[list[PlannedLesson]]:
    """Fill one meeting after the other up to a limit, and leave a lesson for each meeting that remains."""
    filled: list[list[PlannedLesson]] = [[]]
    for place, lesson in enumerate(lessons):
        full = minutes_of(filled[-1]) + lesson.minutes > limit
        if filled[-1] and (full or len(lessons) - place <= meetings - len(filled)):
            filled.append([])
        filled[-1].append(lesson)
    return filled


def minutes_of(lessons: Sequence[PlannedLesson]) -> int:
    """Return the minutes of a meeting, without Further."""
    return sum(lesson.minutes for lesson in lessons)


def plan_warnings(
    lessons: Sequence[PlannedLesson], meetings: Sequence[Sequence[PlannedLesson]], unit: str, minutes: int | None
) -> list[str]:
    """Name the lessons that build on one which was not chosen, and the meetings that are too long.

    Args:
        lessons: The chosen ones.
        meetings: The lessons of each meeting.
        unit: "week" or "day".
        minutes: What one meeting holds; None if nobody said so.
    """
    numbers, warnings = {lesson.number for lesson in lessons}, []
    for lesson in lessons:
        if missing := [number for number in lesson.after if number not in numbers]:
            names, noun = " and ".join(missing), "lesson" if len(missing) == 1 else "lessons"
            warnings.append(f"lesson {lesson.number} builds on {noun} {names}, which --lessons leaves out")
    limit = minutes or (WEEK_MINUTES if unit == "week" else DAY_MINUTES)
    long = [
        f"{unit} {number} ({minutes_of(meeting)})"
        for number, meeting in enumerate(meetings, start=1)
        if minutes_of(meeting) > limit
    ]
    remedy = f"Ask for more {unit}s, choose with --lessons, or limit a meeting with --minutes"
    if minutes:
        remedy = "A lesson is not divided: let students finish it at home, or give more --minutes"
    return warnings + ([f"longer than {limit} minutes: {', '.join(long)}. {remedy}."] if long else [])


def write_markdown(meetings: Sequence[Sequence[PlannedLesson]], unit: str) -> str:
    """Write a plan as a Markdown table.

    Args:
        meetings: The lessons of each meeting.
        unit: "week" or "day".
    """
    rows = [f"| {unit} | lessons | minutes | homework: exercises of Further |", "|---|---|---|---|"]
    for number, lessons in enumerate(meetings, start=1):
        titles = "; ".join(lesson.title for lesson in lessons)
        rows.append(f"| {number} | {titles} | {minutes_of(lessons)} | {_homework(lessons) or 'none'} |")
    return "\n".join(rows) + "\n"


def _homework(lessons: Sequence[PlannedLesson]) -> str:
    return "; ".join(lesson.homework for lesson in lessons if lesson.further)


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
        numbers = ", ".join(lesson.number for lesson in lessons)
        about = [lesson.title for lesson in lessons] + [f"{minutes_of(lessons)} minutes as the lessons state"]
        if homework := _homework(lessons).replace("`", ""):
            about.append(f"Homework (exercises of Further): {homework}")
        lines += [
            "BEGIN:VEVENT",
            f"UID:{start:%Y%m%d}-{unit}-{number + 1}@lean-training",
            f"DTSTAMP:{stamp:%Y%m%dT%H%M%SZ}",
            f"DTSTART;VALUE=DATE:{day:%Y%m%d}",
            f"SUMMARY:{_escape(f'Lean Training, {unit} {number + 1} of {len(meetings)}: {numbers}')}",
            "DESCRIPTION:" + _escape("\n".join(about)),
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
