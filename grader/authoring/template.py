"""Check a lesson against the template and its limits of style."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .calls import functions_named, parsed
from .errors import Problem
from .lesson import Lesson
from .objectives import objective_faults
from .source import BEGIN, END, SourceCell, solution_lines

CODE_LINES, ANSWER_LINES, TEXT_WORDS = 20, 15, 120
LEAST_CORE, MOST_CORE, FURTHER_EXERCISES = 3, 5, 3
FORMS = ("_accelerate", "_trainer")  # endings of the names of two core exercises that count as one
HTML_TAGS = frozenset({"details", "summary", "br"})
HTML = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)(?:\s[^<>]*)?/?>")
CODE_SPAN = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
FIGURE = re.compile(r"!\[([^\]]*)\]\(")
LINK = re.compile(r"\]\([^)]*\)|^\[[^\]]+\]: \S+$", re.MULTILINE)
POWER = re.compile(r"\w\*\*\w")  # two of them in a paragraph are the begin and the end of bold type
WORD = re.compile(r"\S*\w\S*")

Fault = tuple[int, str, str]  # line, fault, remedy


def template_problems(lesson: Lesson) -> list[Problem]:
    """Check a lesson against the template.

    Args:
        lesson: A lesson whose structure is right.

    Returns:
        Every problem, by line.
    """
    faults = [*_title_faults(lesson), *_count_faults(lesson), *objective_faults(lesson)]
    for cell in lesson.cells:
        faults += _text_faults(cell) if cell.kind == "markdown" else _code_faults(cell)
    return [Problem(lesson.path, *fault) for fault in sorted(faults)]


def _title_faults(lesson: Lesson) -> Iterator[Fault]:
    heading = f"# {int(lesson.stem[:2])}. "
    first = lesson.cells[0]
    if first.kind != "markdown" or not first.source.startswith(heading):
        yield first.line, "the first cell is not a title", f"Start the lesson with a text cell '{heading}The title'"


def _count_faults(lesson: Lesson) -> Iterator[Fault]:
    further = {check.exercise for check in lesson.checks if check.is_further}
    core = [name for name in lesson.exercises if name not in further]
    for name in further & {check.exercise for check in lesson.checks if not check.is_further}:
        yield 0, f"exercise '{name}' is checked in the core and in Further", "Move its checks to one of them"
    subjects = {name.removesuffix(FORMS[0]).removesuffix(FORMS[1]) for name in core}
    counted = f"{len(subjects)} in the core, two forms counted as one"
    fault = f"{counted}, where the template has {LEAST_CORE} to {MOST_CORE} exercises"
    if len(subjects) < LEAST_CORE:
        yield 0, fault, "Add exercises to the core"
    if len(subjects) > MOST_CORE:
        yield 0, fault, "Move exercises below the cell with the tag 'further'"
    if len(further) > FURTHER_EXERCISES:
        yield 0, f"{len(further)} exercises in Further, more than {FURTHER_EXERCISES}", "Remove some"


def _text_faults(cell: SourceCell) -> Iterator[Fault]:
    prose = CODE_SPAN.sub("code", cell.source)
    words = len(WORD.findall(HTML.sub(" ", LINK.sub("", prose))))
    if words > TEXT_WORDS:
        yield cell.line, f"a text cell of {words} words, more than {TEXT_WORDS}", "Split it or shorten it"
    for tag in HTML.findall(prose):
        if tag.lower() not in HTML_TAGS:
            yield cell.line_of(f"<{tag}"), f"HTML tag <{tag}>", "Write Markdown; only details, summary and br are HTML"
    for paragraph in prose.split("\n\n"):
        if len(powers := POWER.findall(paragraph)) > 1:
            yield cell.line_of(powers[0]), "powers that Markdown shows as bold type", "Put each into backticks"
    for figure in FIGURE.finditer(prose):
        if not figure.group(1).strip():
            yield cell.line_of(figure.group(0)), "a figure without alt text", "Describe in the brackets what it shows"
    if "hint" in cell.tags and "<details>" not in cell.source:
        yield cell.line, "a hint that is not folded", "Put it into <details><summary>Hint</summary> ... </details>"


def _code_faults(cell: SourceCell) -> Iterator[Fault]:
    answer = len(solution_lines(cell.source))
    if answer > ANSWER_LINES:
        yield cell.line_of(BEGIN), f"an answer of {answer} lines, more than {ANSWER_LINES}", "Give more of it"
    lines = _lines_without_docstring(cell)
    if lines > CODE_LINES:
        yield cell.line, f"a code cell of {lines} lines, more than {CODE_LINES}", "Split it into two cells"


def _lines_without_docstring(cell: SourceCell) -> int:
    """Lines of a cell; an exercise's docstring, its markers and blank lines are not counted."""
    hidden: set[int] = set()
    for function in functions_named(cell.source, cell.exercise) if cell.exercise and parsed(cell.source) else ():
        first = function.body[0]
        if ast.get_docstring(function):
            hidden = set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(cell.source.split("\n"), start=1)
    return sum(
        1 for number, line in lines if number not in hidden and line.strip() and BEGIN not in line and END not in line
    )
