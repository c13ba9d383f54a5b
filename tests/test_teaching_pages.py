"""What the teaching pages quote from the lessons is what the lessons say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader import check_accumulated_gradients
from grader.authoring.plan import read_planned
from grader.authoring.release import select_sources
from grader.questions import read_questions
from grader.verdict import CheckFailed

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


def test_the_readme_states_the_minutes_that_each_lesson_states() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[\d\d .+\]\(course/(\w+)\.ipynb\) \| .+ \| (\d+) \|$", page, flags=re.MULTILINE)
    lessons = read_planned(select_sources(ROOT))
    assert rows == [(lesson.stem, str(lesson.minutes)) for lesson in lessons]


def test_the_readme_shows_what_a_failed_check_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def accumulate_gradients(model, loss_function, optimizer, micro_batches, k):
        for start in range(0, len(micro_batches), k):
            optimizer.zero_grad()
            for inputs, targets in micro_batches[start : start + k]:
                loss_function(model(inputs), targets).backward()
            optimizer.step()

    monkeypatch.chdir(tmp_path)  # where the attempt is recorded
    with pytest.raises(CheckFailed) as failure:
        check_accumulated_gradients(accumulate_gradients)
    shown = "```\n" + "\n".join(failure.value.lines()) + "\n```"
    assert shown in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_on_teaching_names_the_lesson_of_each_idea_of_the_inventory() -> None:
    page = (ROOT / "docs/teaching.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (\d\d) \|$", page, flags=re.MULTILINE)
    asked = [(question.idea, question.lesson) for question in read_questions()]
    assert rows == asked[: len(rows)] and len(rows) == len(set(asked))
