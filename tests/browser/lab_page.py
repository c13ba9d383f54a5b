"""JupyterLab as a person uses it: scroll to a cell, type, run, read."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

STEP_PIXELS = 300
MOST_STEPS = 200


class LabPage:
    """One notebook that is open in JupyterLab."""

    def __init__(self, page: Page, address: str):
        self.page = page
        page.goto(address)
        page.locator(".jp-Notebook").wait_for()
        expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")).to_be_visible()
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")  # a cell that is run before is not run

    def choose(self, *path: str) -> None:
        """Choose an entry of the menus, for example "Run", "Run All Cells"."""
        menu, *entries = path
        self.page.locator(".lm-MenuBar-itemLabel", has_text=menu).first.click()
        for entry in entries:
            self.page.locator(".lm-Menu-itemLabel").get_by_text(entry, exact=True).last.click()

    def cell(self, text: str) -> Locator:
        """Scroll to the first cell that holds a text, from the top."""
        return self._scroll_to(self.page.locator(".jp-Cell", has_text=text).first)

    def figure(self) -> Locator:
        """Scroll to the first figure below a cell, from the top."""
        return self._scroll_to(self.page.locator(".jp-Cell-outputArea img").first)

    def _scroll_to(self, wanted: Locator) -> Locator:
        notebook = self.page.locator(".jp-WindowedPanel-outer").first
        notebook.evaluate("element => { element.scrollTop = 0 }")
        for _ in range(MOST_STEPS):
            self.page.wait_for_timeout(50)
            if wanted.count() and wanted.is_visible():
                wanted.scroll_into_view_if_needed()
                return wanted
            notebook.evaluate(f"element => {{ element.scrollTop += {STEP_PIXELS} }}")
        raise AssertionError(f"nothing fits {wanted}")

    def write(self, text: str, source: str) -> None:
        """Replace the source of the cell that holds a text, and run it."""
        cell = self.cell(text)
        cell.locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("Shift+Enter")
        self.wait()

    def run(self, text: str) -> str:
        """Run the cell that holds a text, and return what stands below it."""
        self.cell(text).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self.wait()
        return self.cell(text).locator(".jp-Cell-outputArea").inner_text()

    def wait(self) -> None:
        """Wait until the kernel has nothing to do."""
        self.page.wait_for_timeout(300)
        idle = self.page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")
        expect(idle).to_be_visible(timeout=180_000)
