"""A student in JupyterLab: opens a lesson, runs it, answers wrongly, reads, answers rightly, validates."""

from __future__ import annotations

import re

import pytest
from lab_page import LabPage
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

WRONG = """
def breaking_defaults(updates, largest_gradient_norm):
    return {"sampling": True, "clipping": largest_gradient_norm > 1, "schedule": True}
"""
RIGHT = WRONG.replace('"sampling": True', '"sampling": updates > 1').replace(
    '"schedule": True', '"schedule": updates > 1'
)
EXERCISE, CHECK = "# exercise: breaking_defaults", "# check: check_breaking_defaults"


def test_the_first_points(lab: str, page: Page, picture) -> None:
    notebook = LabPage(page, lab)
    expect(page.locator(".Toastify__toast")).to_have_count(0)  # no news over the first lesson
    picture(page, "student_1_opened")
    notebook.choose("Run", "Run All Cells")
    notebook.wait()
    output = notebook.cell(CHECK).locator(".jp-Cell-outputArea")
    picture(page, "student_2_run_all_stops_at_the_stub")
    expect(output).to_contain_text("not solved yet: breaking_defaults")

    notebook.write(EXERCISE, f"{EXERCISE}{WRONG}")
    told = notebook.run(CHECK)
    assert re.search(r"expected .*\nmeasured .*\nlook at .*", told), told
    assert "Traceback" not in told
    picture(page, "student_3_a_wrong_answer")

    notebook.write(EXERCISE, f"{EXERCISE}{RIGHT}")
    assert notebook.run(CHECK).startswith("passed: ")
    picture(page, "student_4_the_right_answer")

    page.get_by_role("button", name="Validate").click()
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("check_repaired_loop", timeout=240_000)
    assert "check_breaking_defaults" not in dialog.inner_text()
    picture(page, "student_5_validated")


def test_figures_in_both_themes(lab: str, page: Page, picture, theme: str) -> None:
    notebook = LabPage(page, lab.replace("00_three_forms", "05_mixed_precision"))
    if theme == "dark":
        notebook.choose("Settings", "Theme", "JupyterLab Dark")
        expect(page.locator("body[data-jp-theme-light='false']")).to_be_attached()
    notebook.choose("Run", "Run All Cells")
    notebook.wait()
    picture(page, f"student_lesson_{theme}")
    figure = notebook.figure()
    assert figure.get_attribute("alt")
    assert figure.evaluate("image => image.naturalWidth") > 300
    picture(page, f"student_figure_{theme}")
