"""Build the section of the class report on the capstone: the class's lean runs on the plane of bytes and FLOPs."""

from __future__ import annotations

from collections.abc import Sequence

from grader.classroom.base.row import Row
from grader.classroom.marks.leaderboard import LINE, leaderboard

from .blocks import NAME, NUMBER, TEXT, Block, Heading, Paragraph, Plane, Table

FLOPS, PERCENT = (0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25), (0, 5, 10, 15, 20, 25)
BEST = 10


def front(rows: Sequence[Row]) -> list[Block]:
    """Return the figure and the best runs; [] where no run has passed."""
    places = leaderboard(rows)
    if not places:
        return []
    (free, lean), (dear, leanest) = LINE
    corners = [(FLOPS[0], 100 * lean), (free, 100 * lean), (dear, 100 * leanest), (FLOPS[-1], 100 * leanest)]
    points = [(min(max(place.flops, FLOPS[0]), FLOPS[-1]), 100 * place.share, not place.is_beaten) for place in places]
    axes = "up: peak in %; across: FLOPs; both over the plain run's"
    title = (
        f"{len(places)} lean runs: peak against FLOPs, and the line that the lesson allows; the best in the table below"
    )
    cells = [
        (place.student, place.form, f"{place.share:.1%}", f"{place.flops:.2f}", f"{place.of_allowed:.0%}")
        for place in places[:BEST]
    ]
    columns = [("student", NAME), ("form", TEXT), ("peak", NUMBER), ("FLOPs", NUMBER), ("of what is allowed", NUMBER)]
    explained = (
        "Each point is a run that passed; a filled one is beaten by no other of the class in both numbers. The dashed "
        "line is the most that the lesson allows."
    )
    return [
        Heading(3, "Lean runs: bytes and FLOPs"),
        Paragraph(explained),
        Plane(points, corners, FLOPS, PERCENT, axes, title),
        Table("The best runs", columns, cells),
    ]
