"""The concept inventory: fair questions, a notebook that a class is graded on, and a package for learning platforms."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from pathlib import Path

import nbformat
import pytest

import grader
from grader.__main__ import main
from grader.authoring.inventory import write_qti
from grader.classroom.commands.grading import grade_class
from grader.judging import inventory as judges
from grader.observation import Observation
from grader.observing.contract import CheckFailed
from grader.questions import FORMS, LETTERS, STEMS, Question, QuestionError, read_questions
from grader.verdict import PASSED

ROOT = Path(__file__).parents[2]
QUESTIONS = read_questions()
BANK_CODE = re.compile(r'^# %% .*code="(\w+)"', re.MULTILINE)
QTI = "{http://www.imsglobal.org/xsd/imsqti_v2p1}"


def test_both_forms_ask_the_same_twelve_ideas_in_other_words() -> None:
    ideas = {form: [question.idea for question in QUESTIONS if question.form == form] for form in FORMS}
    assert ideas["before"] == ideas["after"] and len(set(ideas["before"])) == 12
    texts = [question.text for question in QUESTIONS]
    assert len(set(texts)) == len(texts)
    for before, after in zip(QUESTIONS[:12], QUESTIONS[12:], strict=True):
        assert before.right.letter != after.right.letter
        assert [c.code for c in before.choices if c.code] == [c.code for c in after.choices if c.code]


def test_no_letter_is_right_more_often_than_another() -> None:
    for form in FORMS:
        counted = Counter(question.right.letter for question in QUESTIONS if question.form == form)
        assert counted == dict.fromkeys(LETTERS, 3)


def test_each_wrong_choice_is_a_misconception_that_a_bank_declares() -> None:
    banks = (ROOT / "tests" / "lessons").glob("*/*.wrong.py")
    declared = {code for bank in banks for code in BANK_CODE.findall(bank.read_text(encoding="utf-8"))}
    for question in QUESTIONS:
        codes = [choice.code for choice in question.choices if choice.code]
        assert len(set(codes)) == 3 and set(codes) <= declared
        assert len({choice.text for choice in question.choices}) == 4


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.check)
def test_each_choice_is_judged_as_it_is_declared(question: Question) -> None:
    judge = getattr(judges, question.check.replace("check_", "judge_", 1))
    for choice in question.choices:
        verdict = judge(Observation({"letter": choice.letter}), 7)
        assert verdict.code == (choice.code or PASSED)
        assert question.right.text not in verdict.expected + verdict.look_at


@pytest.mark.parametrize("given", ["B", "b", " b\n"])
def test_a_learner_sees_that_an_answer_was_recorded_and_nothing_else(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert grader.check_peak_before(lambda: given) is None
    assert capsys.readouterr().out == "recorded: B\n"


@pytest.mark.parametrize("given", ["", "E", "AB", None, 2, "A or B"])
def test_what_is_no_letter_is_not_recorded(given: object) -> None:
    with pytest.raises(CheckFailed) as failure:
        grader.check_peak_before(lambda: given)
    assert failure.value.code == "no_letter"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="steps are watched from outside on Linux")
def test_a_class_answers_the_form_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    room, stem = tmp_path / "room", STEMS["before"]
    assert main(["inventory", str(room)]) == 0
    assert f"{stem}  added" in capsys.readouterr().out
    solved = nbformat.read(room / "source" / stem / f"{stem}.ipynb", as_version=4)
    released = nbformat.read(room / "release" / stem / f"{stem}.ipynb", as_version=4)
    assert not any("google.colab" in cell.source for cell in released.cells)
    for student, notebook in (("solved", solved), ("untouched", released)):
        path = room / "submitted" / student / stem / f"{stem}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    rows = {row.student: row for row in grade_class(room, with_feedback=False).rows}
    assert {student: row.points("core") for student, row in rows.items()} == {"solved": 12, "untouched": 0}


def test_the_package_holds_every_question_with_its_right_answer(tmp_path: Path) -> None:
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    write_qti(first)
    write_qti(second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as package:
        parts = {name: ET.fromstring(package.read(name)) for name in package.namelist()}
    items = {root.get("identifier"): root for name, root in parts.items() if name.startswith("items/")}
    assert set(items) == {f"{question.idea}_{question.form}" for question in QUESTIONS}
    for question in QUESTIONS:
        item = items[f"{question.idea}_{question.form}"]
        assert [node.text for node in item.iter(f"{QTI}simpleChoice")] == [choice.text for choice in question.choices]
        assert [node.text for node in item.iter(f"{QTI}value")] == [question.right.letter]
    named = {node.get("href") for node in parts["imsmanifest.xml"].iter() if node.tag.endswith("}file")}
    assert named | {"imsmanifest.xml"} == set(parts)
    for form in FORMS:
        references = [node.get("href") for node in parts[f"inventory_{form}.xml"].iter(f"{QTI}assessmentItemRef")]
        assert len(references) == 12 and set(references) <= set(parts)


def test_a_damaged_file_names_the_question_and_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "inventory.toml"
    path.write_text(
        '[[idea]]\nname = "peak"\nlesson = "01"\nwrong = []\nbefore = {text = "", choices = [], right = "A"}\n'
    )
    with pytest.raises(QuestionError, match=r"inventory.toml: question peak, form before: it needs four choices"):
        read_questions(path)
    with pytest.raises(QuestionError, match="Restore the file"):
        read_questions(tmp_path / "missing.toml")
