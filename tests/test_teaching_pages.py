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
