from __future__ import annotations

import datetime as dt
import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from grader.__main__ import main
from grader.authoring.errors import AuthoringError, BuildError
from grader.authoring.plan import PlannedLesson, read_planned, select_day, spread, write_calendar, write_markdown

ROOT = Path(__file__).resolve().parents[2]
STAMP = dt.datetime(2027, 1, 1, 12, tzinfo=dt.UTC)


def lesson(number: int, minutes: int, title: str = "A topic") -> PlannedLesson:
    return PlannedLesson(f"{number:02}_topic", f"{number}. {title}", minutes, 0, ())


def source(folder: Path, number: int, line: str) -> Path:
    path = folder / f"{number:02}_topic.py"
    path.write_text(f"# %% [markdown]\n# # {number}. A topic\n#\n# {line}\n", encoding="utf-8")
    return path


def test_minutes_further_and_lessons_before_are_read(tmp_path: Path) -> None:
    lines = [
        "50 min (estimated) · CPU is enough · the first lesson",
        "60 min (measured) · CPU is enough, a C++ compiler is optional · after lesson 00",
        "65 min, and 45 min for Further (estimated) · CPU is enough · after lessons 00 to 01",
        "60 min (estimated) · CPU is enough · after lessons 00 and 02",
    ]
    lessons = read_planned([source(tmp_path, number, line) for number, line in enumerate(lines)])
    assert [planned.minutes for planned in lessons] == [50, 60, 65, 60]
    assert [planned.further_minutes for planned in lessons] == [0, 0, 45, 0]
    assert [planned.after for planned in lessons] == [(), ("00",), ("00", "01"), ("00", "02")]
    assert lessons[2].title == "2. A topic"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("About an hour.", "does not state minutes"),
        ("60 min (estimated) · CPU is enough · after lesson 09", "builds on lesson 09"),
        ("60 min (estimated) · CPU is enough · after lesson 02", "builds on lesson 02"),
    ],
)
def test_a_lesson_without_a_valid_line_names_file_cause_and_remedy(tmp_path: Path, line: str, fault: str) -> None:
    path = source(tmp_path, 2, line)
    with pytest.raises(BuildError, match=fault) as caught:
        read_planned([path])
    assert caught.value.problems[0].path == path
    assert caught.value.problems[0].remedy


def test_every_lesson_of_the_course_is_in_the_plan_once_and_in_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["plan", "--weeks", "14"]) == 0
    numbers = [int(number) for number in re.findall(r"(?:\| |; )(\d+)\. ", capsys.readouterr().out)]
    assert numbers == [int(path.name[:2]) for path in sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))]


@pytest.mark.parametrize("minutes", [[60, 60, 30, 30, 90], [90, 10, 10, 10, 60, 60], [20, 70, 20, 70, 20]])
@pytest.mark.parametrize("meetings", [1, 2, 3, 5])
def test_the_longest_meeting_is_as_short_as_can_be(minutes: list[int], meetings: int) -> None:
    lessons = [lesson(number, stated) for number, stated in enumerate(minutes)]
    shortest = min(
        max(sum(minutes[start:end]) for start, end in pairwise((0, *cuts, len(minutes))))
        for cuts in combinations(range(1, len(minutes)), meetings - 1)
    )
    planned = spread(lessons, meetings)
    assert len(planned) == meetings
    assert [other for meeting in planned for other in meeting] == lessons
    assert max(sum(other.minutes for other in meeting) for meeting in planned) == shortest


def test_each_meeting_has_a_lesson() -> None:
    meetings = spread([lesson(number, minutes) for number, minutes in enumerate([10, 10, 10, 90])], 4)
    assert [len(meeting) for meeting in meetings] == [1, 1, 1, 1]
    with pytest.raises(AuthoringError, match="Ask for fewer"):
        spread([lesson(0, 60)], 2)


def test_one_day_keeps_the_first_lessons_that_fit() -> None:
    lessons = [lesson(number, 60) for number in range(4)]
    assert select_day(lessons, 190) == lessons[:3]


def test_a_table_states_the_minutes_of_each_meeting() -> None:
    table = write_markdown([[lesson(0, 50), lesson(1, 60)]], "week")
    assert table.splitlines()[2] == "| 1 | 0. A topic; 1. A topic | 110 | not stated |"


def test_a_calendar_keeps_rfc_5545() -> None:
    title = "Größe, size; and " + "ö" * 60
    text = write_calendar([[lesson(0, 50, title)], [lesson(1, 60)]], "week", dt.date(2027, 1, 11), STAMP)
    assert text.endswith("END:VCALENDAR\r\n")
    assert "\n" not in text.replace("\r\n", "")
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    unfolded = text.replace("\r\n ", "").split("\r\n")
    assert "SUMMARY:0. Größe\\, size\\; and " + "ö" * 60 in unfolded
    assert [line for line in unfolded if line.startswith("DTSTART")] == [
        "DTSTART;VALUE=DATE:20270111",
        "DTSTART;VALUE=DATE:20270118",
    ]
    assert len({line for line in unfolded if line.startswith("UID:")}) == 2


def test_a_calendar_needs_a_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--days", "5", "--calendar", "plan.ics"]) == 2
    assert "--start" in capsys.readouterr().err
