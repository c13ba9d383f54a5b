"""Write the feedback page of a submission: the mark, three lines for each lost check, and the answers."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bleach
import jinja2
from bleach.sanitizer import ALLOWED_PROTOCOLS as PROTOCOLS
from markupsafe import Markup
from nbconvert.exporters import Exporter
from nbconvert.filters import markdown2html, strip_ansi
from nbformat.notebooknode import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from grader.classroom.base.row import CORE, MANUAL, PASS
from grader.classroom.gradebook.steps import NOT_RUN_HERE, OURS, ClassroomStep
from grader.classroom.lesson.master import is_answer, is_graded, nbgrader_metadata
from grader.classroom.marks.counted import counted_parts
from grader.classroom.scoring.comments import AUTOMATIC, three_lines
from grader.units import MIB

TEMPLATE = "feedback_page.html.j2"
LONGEST_SOURCE = 20_000  # characters of one cell
LONGEST_PAGE = 200_000  # characters of all cells and outputs; a page has up to 50 times as many
LARGEST_PICTURES = 4 * MIB  # of a page
LONGEST_OUTPUT = 4000  # characters of one output; the rest is in the learner's own notebook
FORMATTER = HtmlFormatter(nowrap=True, style="default")
CODE_STYLE = FORMATTER.get_style_defs("pre.code")
TAGS = set(
    "a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img li ol p pre s span strong sub "
    "summary sup table tbody td th thead tr ul".split()
)
PARAGRAPH_SIGN = re.compile(r'<a class="anchor-link".*?</a>', re.DOTALL)
WORDS = {
    PASS: "passed",
    "partial": "some of the points",
    "fail": "not passed",
    "error": "stopped with an error",
    "timeout": "took too long",
    "died": "the kernel died",
    "not_reached": "was not reached",
    "missing": "no answer",
    MANUAL: "graded by a person",
    "tampered": "a person will look at it",
    "not_gradable": "a person will look at it",
}
Resources = dict[str, Any]


class TellMark(ClassroomStep):
    """Collect what the page shows first: the mark, and every check with its points and its three lines."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Put the mark and the checks of one notebook into the resources."""
        names = resources["nbgrader"]
        parts = counted_parts(self.folder())
        checks = [
            _check_entry(cell, parts.get((names["assignment"], cell.metadata.nbgrader["grade_id"]), CORE))
            for cell in nb.cells
            if is_graded(cell)
        ]
        resources[OURS] = {"checks": checks, "late_penalty": names.get("late_penalty", 0.0)}
        return nb, resources


def _check_entry(cell: NotebookNode, part: str) -> dict[str, Any]:
    metadata, noted = nbgrader_metadata(cell), dict(cell.metadata.get(OURS, {}))
    points, maximum = float(metadata.get("score") or 0.0), float(metadata.get("points") or 0.0)
    verdict = str(noted.get("verdict", ""))
    exercise = str(noted.get("exercise", ""))
    return {
        "name": str(metadata["grade_id"]),
        "exercise": exercise,
        "part": part,
        "points": points,
        "maximum": maximum,
        "is_lost": points < maximum,
        "word": "full points" if points >= maximum else WORDS.get(verdict, verdict),
        "lines": three_lines(verdict, exercise, noted) if points < maximum and verdict not in (PASS, MANUAL) else [],
    }


class FeedbackExporter(Exporter):  # type: ignore[misc]  # nbconvert has no types
    """Renders the page; no HTML that a learner's code printed is shown as HTML, and no script runs."""

    file_extension = ".html"
    output_mimetype = "text/html"

    def from_notebook_node(
        self, nb: NotebookNode, resources: Resources | None = None, **kw: Any
    ) -> tuple[str, Resources]:
        """Run the steps and render one notebook."""
        notebook, resources = super().from_notebook_node(nb, resources, **kw)
        marks = resources.get(OURS, {"checks": [], "late_penalty": 0.0})
        page = (
            _environment()
            .get_template(TEMPLATE)
            .render(
                title=_title(notebook, resources),
                student=resources.get("nbgrader", {}).get("student", ""),
                noticed=notebook.metadata.get(OURS, {}),
                sums=_sums(marks),
                cells=_shown_cells(notebook.cells),
                code_style=CODE_STYLE,
                **marks,
            )
        )
        return page, resources


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"code": _code, "markdown": _markdown, "number": lambda value: f"{value:g}"}
    return environment


def _code(source: str) -> Markup:
    return Markup(highlight(source, PythonLexer(stripnl=False), FORMATTER))  # Pygments escapes


def _markdown(source: str) -> Markup:
    html = PARAGRAPH_SIGN.sub("", markdown2html(source))
    return Markup(bleach.clean(html, tags=TAGS, attributes=_is_allowed, protocols=[*PROTOCOLS, "data"], strip=True))


def _is_allowed(tag: str, name: str, value: str) -> bool:
    """Keep links; of pictures those that the page itself holds, since it asks no server for anything."""
    if tag == "img":
        return name in ("alt", "title") or (name == "src" and value.startswith("data:image/"))
    return tag == "a" and name in ("href", "title") and not value.startswith("data:")


def _title(notebook: NotebookNode, resources: Resources) -> str:
    lines = (line for cell in notebook.cells if cell.cell_type == "markdown" for line in cell.source.splitlines())
    name = str(resources.get("nbgrader", {}).get("assignment", "Feedback"))
    return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), name)


def _sums(marks: Mapping[str, Any]) -> dict[str, float]:
    """Return the points of both parts; the late penalty is shared between them as in the marks."""
    core = sum(check["points"] for check in marks["checks"] if check["part"] == CORE)
    both = sum(check["points"] for check in marks["checks"])
    penalty = marks["late_penalty"] * core / both if both else 0.0
    most = sum(check["maximum"] for check in marks["checks"] if check["part"] == CORE)
    return {
        "core": core - penalty,
        "core_maximum": most,
        "percent": 100 * (core - penalty) / most if most else 0.0,
        "further": both - core,
        "further_maximum": sum(check["maximum"] for check in marks["checks"]) - most,
        "penalty": penalty,
    }


def _shown_cells(cells: Sequence[NotebookNode]) -> list[dict[str, Any]]:
    """Return the cells as far as a page has room for them: answers and checks first."""
    shown = [_cell(cell) for cell in cells]
    text_room, picture_room = LONGEST_PAGE, LARGEST_PICTURES
    for cell in sorted(shown, key=lambda cell: not (cell["is_answer"] or cell["is_check"])):
        cell["source"] = _cut(cell["source"], min(LONGEST_SOURCE, text_room))
        text_room -= len(cell["source"])
        kept = []
        for output in cell["outputs"]:
            text_room, picture_room = text_room - len(output["text"]), picture_room - len(output.get("png", ""))
            kept += [output] if text_room > 0 and picture_room > 0 else []
        cell["outputs"] = kept
        text_room = max(0, text_room)
    return shown


def _cut(text: str, most: int) -> str:
    """Return a text that says how much of it is left out."""
    return text if len(text) <= most else f"{text[:most]}\n... {len(text) - most} more characters"


def _cell(cell: NotebookNode) -> dict[str, Any]:
    metadata = nbgrader_metadata(cell)
    comment = str(metadata.get("comment") or "")
    return {
        "kind": cell.cell_type,
        "source": cell.source,
        "name": str(metadata.get("grade_id", "")),
        "is_answer": is_answer(cell),
        "is_check": is_graded(cell) and not is_answer(cell),
        "comment": "" if AUTOMATIC.match(comment) else comment,  # the page says those above
        "is_left_out": bool(cell.metadata.get(NOT_RUN_HERE)),
        "outputs": [shown for output in cell.get("outputs", []) if (shown := _output(output))],
    }


def _output(output: NotebookNode) -> dict[str, str]:
    """Return an output as plain text or as a picture; HTML, scripts and widgets are left out."""
    if output.output_type == "stream":
        text = str(output.text)
    elif output.output_type == "error":
        text = "\n".join(output.get("traceback") or [f"{output.ename}: {output.evalue}"])
    else:
        data = output.get("data", {})
        picture = str(data.get("image/png", "")).replace("\n", "")
        if picture:
            words = str(data.get("text/plain", "a figure of the notebook"))
            return {"png": picture, "text": _cut(words, LONGEST_OUTPUT)}
        text = str(data.get("text/plain", ""))
    plain = strip_ansi(text)
    return {"text": _cut(plain, LONGEST_OUTPUT)} if plain.strip() else {}
