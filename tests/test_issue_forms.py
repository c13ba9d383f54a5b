"""The issue forms keep to the keys that GitHub documents, so that its chooser offers each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[1] / ".github/ISSUE_TEMPLATE"
FORMS = sorted(set(FOLDER.glob("*.yml")) - {FOLDER / "config.yml"})
# GitHub, "Syntax for issue forms" and "Syntax for GitHub's form schema": required keys, then optional ones.
TOP = ({"name", "description", "body"}, {"title", "labels", "assignees", "projects", "type"})
ATTRIBUTES = {
    "markdown": ({"value"}, set()),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}
ELEMENT = ({"type", "attributes"}, {"id", "validations"})


def read(form: Path) -> dict[str, Any]:
    return yaml.safe_load(form.read_text(encoding="utf-8"))


def unexpected(found: dict[str, Any], keys: tuple[set[str], set[str]]) -> set[str]:
    required, optional = keys
    return (required - set(found)) | (set(found) - required - optional)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_each_element_has_the_keys_of_its_type(form: Path) -> None:
    content = read(form)
    assert not unexpected(content, TOP)
    for element in content["body"]:
        assert not unexpected(element, ELEMENT), element
        assert not unexpected(element["attributes"], ATTRIBUTES[element["type"]]), element
        assert set(element.get("validations", {})) <= {"required"}, element


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_what_a_person_fills_in_has_an_id_of_its_own_and_something_is_required(form: Path) -> None:
    asked = [element for element in read(form)["body"] if element["type"] != "markdown"]
    for key in ("id", "label"):
        found = [element["id"] if key == "id" else element["attributes"]["label"] for element in asked]
        assert len(set(found)) == len(found)
    assert any(element.get("validations", {}).get("required") for element in asked)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_options_are_distinct_and_those_of_checkboxes_have_labels(form: Path) -> None:
    for element in read(form)["body"]:
        options = element["attributes"].get("options", [])
        if element["type"] == "checkboxes":
            assert all(set(option) <= {"label", "required"} for option in options)
            options = [option["label"] for option in options]
        assert all(isinstance(option, str) for option in options)
        assert len(set(options)) == len(options)


def test_the_chooser_offers_each_form_under_a_name_of_its_own() -> None:
    names = [read(form)["name"] for form in FORMS]
    assert len(FORMS) == 4 and len(set(names)) == len(names)


def test_the_chooser_itself_has_documented_keys() -> None:
    chooser = read(FOLDER / "config.yml")
    assert set(chooser) <= {"blank_issues_enabled", "contact_links"}
    assert all(set(link) == {"name", "url", "about"} for link in chooser["contact_links"])


def test_a_measured_device_is_declared_as_a_real_one() -> None:
    (declared,) = [
        element for element in read(FOLDER / "measured_device.yml")["body"] if element["type"] == "checkboxes"
    ]
    assert all(option["required"] for option in declared["attributes"]["options"])
    assert "pretended" in declared["attributes"]["options"][0]["label"]
