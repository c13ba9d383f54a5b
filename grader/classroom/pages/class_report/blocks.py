"""Describe the blocks of the class report, which `class_report.html.j2` renders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

NUMBER, NAME, TEXT = "number", "name", "text"
Column = tuple[str, str]  # heading, and what it holds: NUMBER, NAME or TEXT


@dataclass(frozen=True)
class Heading:
    """A heading of level 2 or 3."""

    block: ClassVar = "heading"
    level: int
    text: str
    anchor: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain text; its kind is "", "note" or "flag"."""

    block: ClassVar = "paragraph"
    text: str
    kind: str = ""


@dataclass(frozen=True)
class Links:
    """Links to the headings of these lessons."""

    block: ClassVar = "links"
    lessons: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table; one with more than three columns becomes a list of cards on a phone."""

    block: ClassVar = "table"
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Histogram:
    """Vertical bars side by side, each with its count, and the bins' edges below.

    Attributes:
        counts: How many are in each bin.
        edges: Texts below the edges, one more than bins; "" for none.
        axis: What the edges are, with the unit.
        title: What the chart says, for those who do not see it.
    """

    block: ClassVar = "histogram"
    counts: Sequence[int]
    edges: Sequence[str]
    axis: str
    title: str


@dataclass(frozen=True)
class Bars:
    """Groups of horizontal bars: a label above, then (share of the width, text) for each; the second is hatched."""

    block: ClassVar = "bars"
    groups: Sequence[tuple[str, Sequence[tuple[float, str]]]]
    title: str


@dataclass(frozen=True)
class Intervals:
    """Points with their intervals on a line from -1 to 1: label, low, value, high."""

    block: ClassVar = "intervals"
    items: Sequence[tuple[str, float, float, float]]
    title: str


@dataclass(frozen=True)
class Plane:
    """Points on a plane, and a line that they should not be above.

    Attributes:
        points: Across, up, and whether the point is drawn filled.
        line: The corners of the line.
        across: Least and most across, and where the grid is.
        up: The same upwards.
        axes: What is up and what is across, with units.
        title: What the chart says, for those who do not see it.
    """

    block: ClassVar = "plane"
    points: Sequence[tuple[float, float, bool]]
    line: Sequence[tuple[float, float]]
    across: Sequence[float]
    up: Sequence[float]
    axes: str
    title: str


@dataclass(frozen=True)
class Cards:
    """Questions with a short answer each, side by side."""

    block: ClassVar = "cards"
    answers: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Mistake:
    """A misconception: what to say about it, what it cost, one answer that shows it, and where the lesson treats it."""

    block: ClassVar = "mistake"
    exercise: str
    code: str
    sentence: str
    students: int
    points: float
    example: str
    section: str


@dataclass(frozen=True)
class StudentMap:
    """A line for each student: name, mark, and a sign for each check; the signs have words."""

    block: ClassVar = "student_map"
    checks: Sequence[str]
    lines: Sequence[tuple[str, str, Sequence[str]]]
    words: Mapping[str, str]


@dataclass(frozen=True)
class Fold:
    """The beginning of a part that a reader unfolds."""

    block: ClassVar = "fold"
    text: str


@dataclass(frozen=True)
class FoldEnd:
    """The end of a part that a reader unfolds."""

    block: ClassVar = "fold_end"


Plot = Histogram | Bars | Intervals | Plane
Block = Heading | Paragraph | Links | Table | Plot | Cards | Mistake | StudentMap | Fold | FoldEnd
