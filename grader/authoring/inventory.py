"""Write the concept inventory: two notebooks, and the same questions for learning platforms (QTI 2.1)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Sequence
from pathlib import Path

from grader.questions import FORMS, STEMS, Question, read_questions

MINUTES = 10
OPENING = """\
# %% [markdown]
# # {title}
#
# Twelve questions, about {minutes} minutes. Choose one answer to each; guess rather than leave one out. The mark of the
# course does not depend on it.
"""
QUESTION = """\
# %% [markdown]
# ## Question {number}
#
# {text}
#
{choices}

# %% exercise="{exercise}"
def {exercise}() -> str:
    \"\"\"Return the letter of your choice.\"\"\"
    ### BEGIN SOLUTION
    return "{right}"
    ### END SOLUTION


# %% check="{check}" points=1
{check}({exercise})
"""
QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
SCHEMA_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
PLACES = {
    QTI: "http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd",
    PACKAGE: "http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd",
}
MATCH_CORRECT = "http://www.imsglobal.org/question/qti_v2p1/rptemplates/match_correct"
RESPONSE, SCORE = "RESPONSE", "SCORE"
EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a zip file can state: the same questions give the same bytes


def write_inventory(folder: Path) -> dict[str, Path]:
    """Write the sources of both forms.

    Args:
        folder: An existing folder.

    Returns:
        The name of each assignment and its source.
    """
    questions = read_questions()
    paths = {}
    for form in FORMS:
        asked = [question for question in questions if question.form == form]
        paths[STEMS[form]] = folder / f"{STEMS[form]}.py"
        paths[STEMS[form]].write_text(_source(form, asked), encoding="utf-8")
    return paths


def _source(form: str, questions: Sequence[Question]) -> str:
    title = f"Concept inventory, {form} the course"
    names = ",\n".join(f"    {question.check}" for question in questions)
    given = f'# %% tags=["given"]\nfrom grader import (\n{names},\n)\n'
    cells = [
        QUESTION.format(
            number=number,
            text=question.text,
            choices="\n".join(f"# - **{choice.letter}**: {choice.text}" for choice in question.choices),
            exercise=question.exercise,
            right=question.right.letter,
            check=question.check,
        )
        for number, question in enumerate(questions, start=1)
    ]
    return "\n".join([OPENING.format(title=title, minutes=MINUTES), given, *cells])


def write_qti(path: Path) -> None:
    """Write both forms as a content package of QTI 2.1: an item for each question, and a test for each form.

    Source: IMS Question and Test Interoperability 2.1 (2012), Assessment Test, Section and Item Information Model, and
    its response processing template "match correct".
    """
    questions = read_questions()
    parts = {f"items/{_identifier(question)}.xml": _item(question) for question in questions}
    for form in FORMS:
        parts[f"inventory_{form}.xml"] = _test(form, [question for question in questions if question.form == form])
    parts["imsmanifest.xml"] = _manifest(questions)
    draft = path.with_name(f".{path.name}.draft")
    with zipfile.ZipFile(draft, "w") as package:
        for name in sorted(parts, key=lambda name: (name != "imsmanifest.xml", name)):
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            ET.indent(parts[name])
            package.writestr(entry, ET.tostring(parts[name], encoding="utf-8", xml_declaration=True))
    draft.replace(path)


def _identifier(question: Question) -> str:
    return f"{question.idea}_{question.form}"


def _root(name: str, namespace: str, **attributes: str) -> ET.Element:
    """Return a root whose namespace is the default one; the names within it need no prefix."""
    location = {"xmlns:xsi": SCHEMA_INSTANCE, "xsi:schemaLocation": f"{namespace} {PLACES[namespace]}"}
    return ET.Element(name, {"xmlns": namespace, **location, **attributes})


def _add(parent: ET.Element, name: str, text: str = "", **attributes: str) -> ET.Element:
    child = ET.SubElement(parent, name, attributes)
    child.text = text or None
    return child


def _item(question: Question) -> ET.Element:
    title = question.idea.replace("_", " ")
    item = _root(
        "assessmentItem", QTI, identifier=_identifier(question), title=title, adaptive="false", timeDependent="false"
    )
    declared = _add(item, "responseDeclaration", identifier=RESPONSE, cardinality="single", baseType="identifier")
    _add(_add(declared, "correctResponse"), "value", question.right.letter)
    _add(item, "outcomeDeclaration", identifier=SCORE, cardinality="single", baseType="float")
    body = _add(item, "itemBody")
    interaction = _add(body, "choiceInteraction", responseIdentifier=RESPONSE, shuffle="false", maxChoices="1")
    _add(interaction, "prompt", question.text)
    for choice in question.choices:
        _add(interaction, "simpleChoice", choice.text, identifier=choice.letter)
    _add(item, "responseProcessing", template=MATCH_CORRECT)
    return item


def _test(form: str, questions: Sequence[Question]) -> ET.Element:
    test = _root("assessmentTest", QTI, identifier=f"inventory_{form}", title=f"Concept inventory, {form} the course")
    _add(test, "outcomeDeclaration", identifier=SCORE, cardinality="single", baseType="float")
    part = _add(test, "testPart", identifier="part", navigationMode="nonlinear", submissionMode="simultaneous")
    section = _add(part, "assessmentSection", identifier="section", title="Questions", visible="true")
    for question in questions:
        place = f"items/{_identifier(question)}.xml"
        _add(section, "assessmentItemRef", identifier=_identifier(question), href=place)
    processing = _add(test, "outcomeProcessing")
    total = _add(_add(processing, "setOutcomeValue", identifier=SCORE), "sum")
    _add(total, "testVariables", variableIdentifier=SCORE)
    return test


def _manifest(questions: Sequence[Question]) -> ET.Element:
    manifest = _root("manifest", PACKAGE, identifier="lean_training_inventory")
    metadata = _add(manifest, "metadata")
    _add(metadata, "schema", "QTIv2.1 Package")
    _add(metadata, "schemaversion", "1.0.0")
    _add(manifest, "organizations")
    resources = _add(manifest, "resources")
    for form in FORMS:
        name = f"inventory_{form}"
        resource = _add(resources, "resource", identifier=name, type="imsqti_test_xmlv2p1", href=f"{name}.xml")
        _add(resource, "file", href=f"{name}.xml")
        for question in questions:
            if question.form == form:
                _add(resource, "dependency", identifierref=_identifier(question))
    for question in questions:
        name, place = _identifier(question), f"items/{_identifier(question)}.xml"
        _add(_add(resources, "resource", identifier=name, type="imsqti_item_xmlv2p1", href=place), "file", href=place)
    return manifest
