"""Builds the site: `python docs/site/build.py`; the pages are in build/site/html.

Lessons are the solved notebooks, run here, with each answer folded. A lesson that has not changed since the last build
is not run again. With `DAILY=1`, as in CI, neither is one that is validated and has no turn today: its page then has no
outputs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import nbformat
from evidence import evidence
from nbformat.notebooknode import NotebookNode
from sequence import describe_sequence, draw_sequence

import grader
from grader.authoring.executed import disturbances, execute
from grader.authoring.header import SET_UP_TITLE
from grader.authoring.lesson import Lesson, build_master, read_lesson
from grader.authoring.notebook import clear_solutions
from grader.authoring.plan import DAY_MINUTES, read_planned, spread, write_markdown
from grader.authoring.release import select_sources
from grader.authoring.source import BEGIN, END
from grader.authoring.validated import content_hash, has_turn, is_validated

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
BUILD = ROOT / "build" / "site"
PAGES, RUNS, HTML = BUILD / "pages", BUILD / "runs", BUILD / "html"
SIDE_BY_SIDE = 2  # lessons that run at once
SOLVED_NOTE = "*What stands below an exercise was printed with its answer, which is folded.*"
# Where a page of the repository is on the site.
MOVED = (
    (re.compile(r"\]\(course/(\w+)\.ipynb\)"), r"](lessons/\1.ipynb)"),
    (re.compile(r"\]\(docs/images/"), "](images/"),
    (re.compile(r"\]\(docs/instructor\.md"), "](instructor.md"),
    (re.compile(r"\]\(docs/(teaching|rubric|release|other_tools)\.md"), r"](\1.md"),
    (re.compile(r"\]\((?:\.\./)?CONTRIBUTING\.md\)"), "](contributing.md)"),
    (re.compile(r"\]\((?:\.\./)?CHANGELOG\.md\)"), "](changelog.md)"),
    (re.compile(r"\]\((?:\.\./)?README\.md"), "](index.md"),
)
AREAS = {
    "Measuring": "grader.meters",
    "Ranks": "grader.ranks",
    "Figures": "grader.figures",
    "Models and data": "grader.testbed",
    "Device and units": ("grader.device", "grader.units", "grader.verdict"),
    "Checks": ("grader.lessons", "grader.observing"),
}


def main() -> int:
    """Build every page, and return Sphinx's exit code."""
    shutil.rmtree(PAGES, ignore_errors=True)
    (PAGES / "lessons").mkdir(parents=True)
    RUNS.mkdir(exist_ok=True)
    sources = select_sources(ROOT)
    lessons = [read_lesson(source) for source in sources]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for lesson, notebook in zip(lessons, pool.map(executed_lesson, sources), strict=True):
            nbformat.write(as_page(notebook), PAGES / "lessons" / f"{lesson.stem}.ipynb")
            print(f"{lesson.stem}: ready", flush=True)
    shutil.copytree(ROOT / "docs" / "images", PAGES / "images")
    write_texts(lessons)
    shutil.rmtree(HTML, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", str(HERE)]
    return subprocess.run([*command, str(PAGES), str(HTML)], check=False).returncode


def executed_lesson(source: Path) -> NotebookNode:
    """Return the solved notebook, with its outputs unless it is left out today; an earlier run is kept.

    Raises:
        SystemExit: A cell raised, or a check wrote to stderr.
    """
    stem, is_daily = source.stem, os.environ.get("DAILY", "") not in ("", "0")
    if is_daily and is_validated(ROOT, stem) and not has_turn(stem, date.today().toordinal()):
        return build_master(source)
    shown = hashlib.sha256(source.read_bytes() + (ROOT / "grader" / "figures.py").read_bytes()).hexdigest()
    kept = RUNS / f"{source.stem}.{content_hash(ROOT, source.stem)[:16]}.{shown[:8]}.ipynb"
    if not kept.exists():
        executed = execute(build_master(source)).notebook
        if found := disturbances(executed):
            raise SystemExit(f"{source}: cell {found[0].cell_index}: {found[0].name}: {found[0].text}")
        for stale in RUNS.glob(f"{source.stem}.*"):
            stale.unlink()
        draft = kept.with_suffix(".part")
        nbformat.write(executed, draft)
        os.replace(draft, kept)
    return nbformat.read(kept, as_version=4)


def as_page(notebook: NotebookNode) -> NotebookNode:
    """Fold each answer below the stub that a student gets, say so, and leave out the set-up for Colab."""
    cells = []
    title = next(cell for cell in notebook.cells if cell.source.startswith("# "))
    title.source += f"\n\n{SOLVED_NOTE}"
    for cell, stub in zip(notebook.cells, clear_solutions(notebook).cells, strict=True):
        if cell.source.startswith(SET_UP_TITLE):
            continue
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cells.append(nbformat.v4.new_markdown_cell(f"```python\n{stub.source}\n```"))
            cell.source = "\n".join(line for line in cell.source.split("\n") if BEGIN not in line and END not in line)
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-input"]
        if alternative := alternative_text(cell):
            cell.metadata["mystnb"] = {"image": {"alt": alternative}}
        cells.append(cell)
    notebook.cells = cells
    return notebook


def alternative_text(cell: NotebookNode) -> str:
    """Return what the figures of a cell say to those who do not see them."""
    texts = [output.get("metadata", {}).get("image/png", {}).get("alt", "") for output in cell.get("outputs", [])]
    return " ".join(filter(None, texts))


def what_builds_on_what(sources: list[Path]) -> str:
    """Draw which lesson builds on which, and return the section that shows the picture."""
    planned = read_planned(sources)
    (PAGES / "images" / "sequence.svg").write_bytes(draw_sequence(planned))
    caption = "An arrow leads from a lesson to one that builds on it. Arrows that follow from others are left out."
    picture = f"![{describe_sequence(planned)}.](images/sequence.svg)"
    return f"\n## What builds on what\n\n{caption}\n\n{picture}\n"


def plans(sources: list[Path]) -> str:
    """Return the three plans of the course as tables, from what the lessons state."""
    planned = read_planned(sources)
    weeks, days = write_markdown(spread(planned, 14)[0], "week"), write_markdown(spread(planned, 5)[0], "day")
    day = write_markdown(spread(planned, 1, DAY_MINUTES)[0], "day")
    return f"\n## 14 weeks\n\n{weeks}\n## Five days\n\n{days}\n## One day\n\n{day}"


def write_texts(lessons: list[Lesson]) -> None:
    """Write the pages that are texts: the front page, the syllabus, the guides, the public names."""
    guides = {
        "teaching": "docs/teaching.md",
        "rubric": "docs/rubric.md",
        "other_tools": "docs/other_tools.md",
        "release": "docs/release.md",
        "instructor": "docs/instructor.md",
        "contributing": "CONTRIBUTING.md",
        "changelog": "CHANGELOG.md",
    }
    for page, path in guides.items():
        (PAGES / f"{page}.md").write_text(moved((ROOT / path).read_text(encoding="utf-8")), encoding="utf-8")
    sources = [lesson.path for lesson in lessons]
    sequence = what_builds_on_what(sources)
    with (PAGES / "teaching.md").open("a", encoding="utf-8") as page_of_plans:
        page_of_plans.write(sequence + plans(sources))
    front = moved((ROOT / "README.md").read_text(encoding="utf-8")).replace("](LICENSE)", "](LICENSE.md)")
    (PAGES / "LICENSE.md").write_text(
        "# Licence\n\n" + (ROOT / "LICENSE").read_text(encoding="utf-8"), encoding="utf-8"
    )
    contents = [
        toctree("Course", ["syllabus", *(f"lessons/{lesson.stem}" for lesson in lessons)]),
        toctree(
            "Teach and develop",
            [
                "teaching",
                "evidence",
                "rubric",
                "other_tools",
                "instructor",
                "api",
                "contributing",
                "release",
                "changelog",
                "LICENSE",
            ],
        ),
    ]
    (PAGES / "index.md").write_text("\n\n".join([front, sequence, *contents]) + "\n", encoding="utf-8")
    (PAGES / "evidence.md").write_text(evidence(ROOT, lessons), encoding="utf-8")
    (PAGES / "syllabus.md").write_text(syllabus(lessons), encoding="utf-8")
    (PAGES / "api.rst").write_text(public_names(), encoding="utf-8")


def moved(text: str) -> str:
    """Lead a page's links to the pages of the site."""
    for pattern, place in MOVED:
        text = pattern.sub(place, text)
    return text


def toctree(caption: str, pages: list[str]) -> str:
    """Return a hidden table of contents, which the site shows at its side."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"])


def syllabus(lessons: list[Lesson]) -> str:
    """Return the page of all lessons: what each promises, what one can do after it, and what it grades."""
    parts = ["# Syllabus", "What each lesson promises, and what its checks measure. Points of Further are extra."]
    for lesson in lessons:
        texts = [cell.source for cell in lesson.cells if cell.kind == "markdown"]
        number, title = lesson.stem.split("_")[0], lesson.title
        promise = "\n\n".join(texts[0].split("\n\n")[1:])
        core = sum(check.points for check in lesson.checks if not check.is_further)
        further = sum(check.points for check in lesson.checks if check.is_further)
        graded = f"{len(lesson.exercises)} exercises; {core} core points, {further} further."
        parts.append(f"## [{number} {title}](lessons/{lesson.stem}.ipynb)\n\n{promise}\n\n{texts[1]}\n\n{graded}")
    return "\n\n".join(parts) + "\n"


def public_names() -> str:
    """Return the page of the public names of `grader`, by area."""
    homes = {
        name: getattr(grader, name).__module__ if hasattr(getattr(grader, name), "__module__") else ""
        for name in grader.__all__
    }
    parts = ["The package grader", "==================", "", "Every name is imported from ``grader``.", ""]
    for area, prefixes in AREAS.items():
        parts += [area, "-" * len(area), ""]
        for name, home in homes.items():
            if home.startswith(prefixes):
                kind = "autoclass" if isinstance(getattr(grader, name), type) else "autofunction"
                parts += [f".. {kind}:: grader.{name}", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
