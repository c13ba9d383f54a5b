"""A real browser before a real JupyterLab; every step leaves a picture in build/screenshots/."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HEEDING = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"  # not so in the background


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail(f"none of {', '.join(BROWSERS)} is installed; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, accept_downloads=True)
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def take_picture(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")


@pytest.fixture
def picture():
    return take_picture


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """Start what `make lab` starts, in a copy of the course; yield the address that it prints."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "course", tmp_path / "course")
    start = f"{HEEDING}; from grader.__main__ import main; sys.exit(main(['lab', '--no-browser']))"
    settings = {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    settings |= {
        "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "w"),
    }
    server = subprocess.Popen(
        [sys.executable, "-c", start],
        cwd=tmp_path,
        env=os.environ | settings | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout
    with server, server.stdout:
        try:
            yield next(match.group(1) for line in server.stdout if (match := re.match(r"JupyterLab: (\S+)", line)))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
