"""Define the commands of a course's authors: release, validate, lab, plan."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from pathlib import Path
from typing import Any

from grader.command_line import at_least_one, count, port


def register(subparsers: Any) -> None:
    """Add the authoring commands to the parser of `python -m grader`.

    Args:
        subparsers: What `ArgumentParser.add_subparsers` returned.
    """
    release = subparsers.add_parser("release", help="build course/ from solutions/")
    release.add_argument("lessons", nargs="*", metavar="LESSON", help="number or name; all if none is named")
    release.add_argument("--check", action="store_true", help="write nothing; exit 1 and name the files that differ")
    release.set_defaults(func=_release)
    validate = subparsers.add_parser("validate", help="run lessons solved, unsolved, and against their banks")
    validate.add_argument("lessons", nargs="*", metavar="LESSON", help="number or name; all if none is named")
    validate.add_argument(
        "--exercise", action="append", default=[], metavar="NAME", help="run this exercise's banks alone; repeatable"
    )
    validate.add_argument(
        "-j", "--processes", type=at_least_one, default=2, help="answers that run at a time (default 2)"
    )
    validate.set_defaults(func=_validate)
    lab = subparsers.add_parser("lab", help="copy new lessons to work/ and open JupyterLab there")
    lab.add_argument("--no-browser", action="store_true", help="print the URL only")
    lab.add_argument("--port", type=port, default=None, help="port to listen on (default: Jupyter's choice)")
    lab.set_defaults(func=_lab)
    plan = subparsers.add_parser("plan", help="spread the lessons over weeks or days")
    length = plan.add_mutually_exclusive_group(required=True)
    length.add_argument("--weeks", type=at_least_one, help="one meeting a week")
    length.add_argument("--days", type=at_least_one, help="one meeting a day; 1 keeps the lessons that fit")
    plan.add_argument("--lessons", nargs="+", default=[], metavar="NN", help='numbers or names, as "02"; default all')
    plan.add_argument(
        "--minutes", type=at_least_one, metavar="M", help="what one meeting holds; lessons that do not fit are named"
    )
    plan.add_argument("--calendar", type=Path, metavar="FILE.ics", help="write the meetings as iCalendar, too")
    plan.add_argument("--start", type=_date, metavar="YYYY-MM-DD", help="the first meeting")
    plan.set_defaults(func=_plan)


def _release(arguments: argparse.Namespace) -> int:
    from .release import COURSE, SOURCES, find_changes, write_changes
    from .repository import find_root

    root = find_root(Path.cwd())
    changes = find_changes(root, arguments.lessons)
    if not arguments.check:
        write_changes(root, changes)
    for change in changes:
        done = "removed, it has no source" if change.text is None else "written"
        print(f"{change.path}: {change.state if arguments.check else done}")
    if not changes:
        print(f"{COURSE}/ is up to date with {SOURCES}/")
    elif arguments.check:
        print(f"{len(changes)} of {COURSE}/ out of date with {SOURCES}/. Run: python -m grader release")
    return int(arguments.check and bool(changes))


def _validate(arguments: argparse.Namespace) -> int:
    from .repository import find_root
    from .validate import validate

    return validate(find_root(Path.cwd()), arguments.lessons, arguments.exercise, processes=arguments.processes)


def _lab(arguments: argparse.Namespace) -> int:
    from .lab import open_lab
    from .repository import find_root

    return open_lab(find_root(Path.cwd()), has_browser=not arguments.no_browser, port=arguments.port)


def _date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2027-01-11") from None


def _plan(arguments: argparse.Namespace) -> int:
    from .errors import AuthoringError
    from .plan import DAY_MINUTES, fill, plan_warnings, read_planned, spread, write_calendar, write_markdown
    from .release import select_sources
    from .repository import find_root

    if (arguments.calendar is None) != (arguments.start is None):
        raise AuthoringError("--calendar and --start need each other. Name both or neither.")
    root = find_root(Path.cwd())
    chosen = {path.stem for path in select_sources(root, [name.zfill(2) for name in arguments.lessons])}
    lessons = [lesson for lesson in read_planned(select_sources(root)) if lesson.stem in chosen]
    unit = "week" if arguments.weeks else "day"
    minutes = arguments.minutes or (DAY_MINUTES if arguments.days == 1 else None)
    meetings, left_out = spread(lessons, arguments.weeks or arguments.days, minutes)
    if arguments.calendar:
        calendar = write_calendar(meetings, unit, arguments.start, dt.datetime.now(dt.UTC))
        arguments.calendar.write_text(calendar, encoding="utf-8", newline="")
    print(write_markdown(meetings, unit), end="")
    if left_out and minutes:
        needed = count(len(fill(lessons, minutes)), unit)
        print(f"\nNo time is left for {', '.join(lesson.number for lesson in left_out)}.", end=" ")
        print(f"{count(len(lessons), 'lesson')} need {needed} of {minutes} minutes.")
    for warning in plan_warnings(lessons, meetings, unit, arguments.minutes):
        print(f"warning: {warning}", file=sys.stderr)
    return 0
