from __future__ import annotations

import datetime as dt
import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from grader.__main__ import main
from grader.authoring.errors import AuthoringError, BuildError
from grader.authoring.plan import PlannedLesson, plan_warnings, read_planned, spread, write_calendar, write_markdown

ROOT = Path(__file__).resolve().parents[2]
STAMP = dt.datetime(2027, 1, 1, 12, tzinfo=dt.UTC)


def lesson(
    number: int, minutes: int, title: str = "A topic", after: tuple[str, ...] = (), further: tuple[str, ...] = ()
) -> PlannedLesson:
    return PlannedLesson(f"{number:02}_topic", f"{number}. {title}", minutes, 0, after, further)


def plan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    """Run the command on the course and return what it prints on stdout and on stderr."""
    monkeypatch.chdir(ROOT)
    assert main(["plan", *words]) == 0
    printed = capsys.readouterr()
    return printed.out, printed.err


def source(folder: Path, number: int, line: str) -> Path:
    path = folder / f"{number:02}_topic.py"
    further = '# %% tags=["further"]\n\n# %% exercise="later"\ndef later(): ...\n'
    text = f'# %% [markdown]\n# # {number}. A topic\n#\n# {line}\n\n# %% exercise="core"\ndef core(): ...\n\n{further}'
    path.write_text(text, encoding="utf-8")
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
    assert lessons[2].further == ("later",)
    assert lessons[2].homework == "02 (45 min) `later`" and lessons[3].homework == "03 `later`"


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
    table, warnings = plan(monkeypatch, capsys, "--weeks", "14")
    numbers = [int(number) for number in re.findall(r"(?:\| |; )(\d+)\. ", table)]
    assert not warnings
    assert numbers == [int(path.name[:2]) for path in sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))]


@pytest.mark.parametrize("minutes", [[60, 60, 30, 30, 90], [90, 10, 10, 10, 60, 60], [20, 70, 20, 70, 20]])
@pytest.mark.parametrize("meetings", [1, 2, 3, 5])
def test_the_longest_meeting_is_as_short_as_can_be(minutes: list[int], meetings: int) -> None:
    lessons = [lesson(number, stated) for number, stated in enumerate(minutes)]
    shortest = min(
        max(sum(minutes[start:end]) for start, end in pairwise((0, *cuts, len(minutes))))
        for cuts in combinations(range(1, len(minutes)), meetings - 1)
    )
    planned, left_out = spread(lessons, meetings)
    assert len(planned) == meetings
    assert [other for meeting in planned for other in meeting] == lessons and not left_out
    assert max(sum(other.minutes for other in meeting) for meeting in planned) == shortest


def test_each_meeting_has_a_lesson() -> None:
    meetings, _ = spread([lesson(number, minutes) for number, minutes in enumerate([10, 10, 10, 90])], 4)
    assert [len(meeting) for meeting in meetings] == [1, 1, 1, 1]
    with pytest.raises(AuthoringError, match="Ask for fewer"):
        spread([lesson(0, 60)], 2)


def test_a_limit_keeps_the_first_lessons_that_fit_and_returns_the_rest() -> None:
    lessons = [lesson(number, 60) for number in range(4)]
    assert spread(lessons, 1, 190) == ([lessons[:3]], lessons[3:])
    assert spread(lessons, 2, 190) == ([lessons[:2], lessons[2:]], [])  # as even as without a limit


def test_a_lesson_longer_than_a_meeting_has_one_for_itself_and_draws_a_warning() -> None:
    lessons = [lesson(0, 40), lesson(1, 90), lesson(2, 20), lesson(3, 40)]
    meetings, left_out = spread(lessons, 3, 60)
    assert [[other.number for other in meeting] for meeting in meetings] == [["00"], ["01"], ["02", "03"]]
    assert not left_out
    (warning,) = plan_warnings(lessons, meetings, "week", 60)
    assert warning.startswith("longer than 60 minutes: week 2 (90).") and "--minutes" in warning


def test_a_lesson_that_was_not_chosen_but_is_built_on_is_named() -> None:
    lessons = [lesson(1, 60), lesson(3, 60, after=("00", "01", "02"))]
    (warning,) = plan_warnings(lessons, [lessons], "week", None)
    assert warning.startswith("lesson 03 builds on lessons 00 and 02,")


def test_a_table_states_minutes_and_homework_of_each_meeting() -> None:
    table = write_markdown(
        [[lesson(0, 50, further=("a", "b")), lesson(1, 60, further=("c",))], [lesson(2, 60)]], "week"
    )
    assert table.splitlines()[2:] == [
        "| 1 | 0. A topic; 1. A topic | 110 | 00 `a`, `b`; 01 `c` |",
        "| 2 | 2. A topic | 60 | none |",
    ]


def test_chosen_lessons_are_planned_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    table, warnings = plan(monkeypatch, capsys, "--weeks", "2", "--lessons", "2", "00", "01_where_memory_goes", "05")
    assert re.findall(r"(?:\| |; )(\d+)\. ", table) == ["0", "1", "2", "5"]
    assert "`largest_micro_batch`" in table
    assert warnings == "warning: lesson 05 builds on lessons 03 and 04, which --lessons leaves out\n"
    assert main(["plan", "--weeks", "2", "--lessons", "99"]) != 0
    assert "no lesson '99'" in capsys.readouterr().err


def test_lessons_for_which_no_time_is_left_are_named_with_the_weeks_they_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--lessons", "00", "01", "02", "03", "--minutes", "120")
    table, _ = plan(monkeypatch, capsys, "--weeks", "2", *words)
    said = re.search(r"No time is left for (.+)\. 4 lessons need (\d) weeks of 120 minutes\.", table)
    assert said and said[1] == "03"
    table, _ = plan(monkeypatch, capsys, "--weeks", said[2], *words)
    assert "No time is left" not in table


def test_a_week_of_more_than_three_hours_draws_a_warning_and_a_day_of_six_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, warnings = plan(monkeypatch, capsys, "--weeks", "6")
    assert "longer than 180 minutes: week 1 (" in warnings and "--minutes" in warnings
    _, warnings = plan(monkeypatch, capsys, "--days", "5")
    assert not warnings


def test_a_calendar_keeps_rfc_5545() -> None:
    title = "Größe, size; and " + "ö" * 60
    meetings = [[lesson(0, 50, title), lesson(2, 30, further=("a", "b"))], [lesson(3, 60)]]
    text = write_calendar(meetings, "week", dt.date(2027, 1, 11), STAMP)
    assert text.endswith("END:VCALENDAR\r\n")
    assert "\n" not in text.replace("\r\n", "")
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    unfolded = text.replace("\r\n ", "").split("\r\n")
    assert "SUMMARY:Lean Training\\, week 1 of 2: 00\\, 02" in unfolded
    about = f"0. Größe\\, size\\; and {'ö' * 60}\\n2. A topic\\n80 minutes as the lessons state"
    assert f"DESCRIPTION:{about}\\nHomework (exercises of Further): 02 a\\, b" in unfolded
    assert [line for line in unfolded if line.startswith("DTSTART")] == [
        "DTSTART;VALUE=DATE:20270111",
        "DTSTART;VALUE=DATE:20270118",
    ]
    assert len({line for line in unfolded if line.startswith("UID:")}) == 2


def test_a_calendar_needs_a_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--days", "5", "--calendar", "plan.ics"]) == 2
    assert "--start" in capsys.readouterr().err


def test_a_start_that_is_no_date_says_what_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "--weeks", "6", "--calendar", "plan.ics", "--start", "2027-13-11"])
    assert "'2027-13-11' is not a date such as 2027-01-11" in capsys.readouterr().err
