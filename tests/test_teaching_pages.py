"""What the teaching pages quote from the lessons is what the lessons say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUBRIC = (ROOT / "docs/rubric.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^### (\d\d) .+\n\n> (.+)\n\nModel answer: \*(.+)\*\n\n((?:\|.+\n)+)", re.MULTILINE)
QUESTIONS = SECTION.findall(RUBRIC)


def text_of(number: str) -> str:
    """Return the lesson's source in one line, without the signs that make its text cells comments."""
    (source,) = (ROOT / "solutions").glob(f"{number}_*.py")
    return " ".join(re.sub(r"^# ?", "", source.read_text(encoding="utf-8"), flags=re.MULTILINE).split())


def test_the_rubric_covers_five_questions() -> None:
    assert len(QUESTIONS) == 5 == RUBRIC.count("\n### ")


@pytest.mark.parametrize(("number", "question", "answer", "table"), QUESTIONS, ids=lambda text: text[:2])
def test_the_rubric_quotes_question_and_model_answer(number: str, question: str, answer: str, table: str) -> None:
    folded = f"Explain in one sentence: {question}</summary> {answer} </details>"
    assert folded in text_of(number)
    assert [row.split("|")[1].strip() for row in table.splitlines()[2:]] == ["2", "1", "0"]


def test_each_name_of_another_tool_has_a_source_and_each_source_is_used() -> None:
    page = (ROOT / "docs/other_tools.md").read_text(encoding="utf-8")
    text, _, sources = page.partition("## Sources")
    listed = re.findall(r"^\| ([LDTN]\d) \| \[.+\]\(https://.+\)", sources, flags=re.MULTILINE)
    assert len(set(listed)) == len(listed)
    assert set(re.findall(r"\[([LDTN]\d)\]", text)) == set(listed)
    rows = [line for line in text.splitlines() if re.match(r"\| \d\d ", line)]
    cells = [cell.strip() for row in rows for cell in row.strip("|").split("|")[1:]]
    assert len(rows) == 13 and all(cell == "–" or re.search(r"\[[LDTN]\d\]", cell) for cell in cells)


def test_the_page_of_other_tools_names_lessons_that_exist() -> None:
    page = (ROOT / "docs/other_tools.md").read_text(encoding="utf-8")
    numbers = set(re.findall(r"^\| (\d\d) |lesson (\d\d)", page, flags=re.MULTILINE))
    assert all(list((ROOT / "course").glob(f"{first or second}_*.ipynb")) for first, second in numbers)
