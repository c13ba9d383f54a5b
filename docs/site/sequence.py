"""Draw what builds on what, from the lines "after lesson N" in the lessons' first cells."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from grader.authoring.plan import PlannedLesson

Place = tuple[int, int]  # lane from the left, row from the top
Arrow = tuple[str, str]  # a lesson, and one that builds on it
BOX_WIDTH, BOX_HEIGHT = 0.86, 0.62  # of the distance between two lanes, and between two rows
LANE_INCHES, ROW_INCHES = 1.75, 0.68
LETTERS = 19  # that fit into one line of a box
HIDDEN_COST = 100  # an arrow behind a box, in lanes of sideways distance


def draw_sequence(lessons: Sequence[PlannedLesson], file_format: str = "svg") -> bytes:
    """Return a picture with a box for each lesson and an arrow to each lesson that builds on it.

    Args:
        lessons: By number, so that each comes after those that it builds on.
        file_format: "svg" or "png".
    """
    places, arrows = place_lessons(lessons), needed_arrows(lessons)
    lanes = [lane for lane, _ in places.values()]
    rows = 1 + max(row for _, row in places.values())
    width = 1 + max(lanes) - min(lanes)
    figure = Figure(figsize=(width * LANE_INCHES, rows * ROW_INCHES), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(min(lanes) - 0.5, max(lanes) + 0.5), ylim=(rows - 0.5, -0.5))
    axes.set_axis_off()
    for lesson in lessons:
        lane, row = places[lesson.number]
        corner = (lane - BOX_WIDTH / 2, row - BOX_HEIGHT / 2)
        axes.add_patch(mpl.patches.Rectangle(corner, BOX_WIDTH, BOX_HEIGHT, facecolor="#E8F1F8", edgecolor="#0072B2"))
        title = lesson.title.partition(". ")[2] or lesson.title
        label = "\n".join(textwrap.wrap(f"{lesson.number} {title}", LETTERS, max_lines=2, placeholder=" …"))
        axes.text(lane, row, label, ha="center", va="center", fontsize=9, color="black")
    for before, after in arrows:
        (lane, row), (next_lane, next_row) = places[before], places[after]
        ends = {"xy": (next_lane, next_row - BOX_HEIGHT / 2), "xytext": (lane, row + BOX_HEIGHT / 2)}
        style = {"arrowstyle": "-|>", "color": "#333333", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", **ends, arrowprops=style)
    picture = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "lean-training", "svg.fonttype": "path"}):
        metadata = {"Date": None} if file_format == "svg" else None
        figure.savefig(picture, format=file_format, dpi=110, metadata=metadata)
    return picture.getvalue()


def describe_sequence(lessons: Sequence[PlannedLesson]) -> str:
    """Return the arrows as a sentence, for those who do not see them."""
    after: dict[str, list[str]] = {}
    for before, lesson in needed_arrows(lessons):
        after.setdefault(lesson, []).append(before)
    return "; ".join(f"{number} builds on {' and '.join(names)}" for number, names in after.items())


def needed_arrows(lessons: Sequence[PlannedLesson]) -> list[Arrow]:
    """Return who builds on whom, without the arrows that follow from others."""
    below: dict[str, set[str]] = {}
    for lesson in lessons:
        below[lesson.number] = set(lesson.after).union(*(below[number] for number in lesson.after))
    return [
        (number, lesson.number)
        for lesson in lessons
        for number in lesson.after
        if not any(number in below[other] for other in lesson.after)
    ]


def place_lessons(lessons: Sequence[PlannedLesson]) -> dict[str, Place]:
    """Return a place for each lesson: below those that it builds on, and so that few arrows pass behind a box."""
    arrows = needed_arrows(lessons)
    rows: dict[str, int] = {}
    for lesson in lessons:
        rows[lesson.number] = 1 + max((rows[number] for number in lesson.after), default=-1)
    branches = _branches(lessons, arrows)
    lanes = dict(zip((branch[0] for branch in branches), range(len(branches)), strict=True))

    def places() -> dict[str, Place]:
        return {number: (lanes[branch[0]], rows[number]) for branch in branches for number in branch}

    _improve(lanes, lambda: _cost(places(), arrows))
    return dict(sorted(places().items()))


def _branches(lessons: Sequence[PlannedLesson], arrows: Sequence[Arrow]) -> list[list[str]]:
    """Return runs of lessons that share a lane: the first lesson that builds on another one continues its run."""
    branches: list[list[str]] = []
    for lesson in lessons:
        before = [number for number, after in arrows if after == lesson.number]
        ended = [branch for branch in branches if len(before) == 1 and branch[-1] == before[0]]
        if ended:
            ended[0].append(lesson.number)
        else:
            branches.append([lesson.number])
    return branches


def _improve(lanes: dict[str, int], cost: Callable[[], float]) -> None:
    """Move one branch, or exchange two, as long as that lowers the cost."""
    names = list(lanes)
    best, improved = cost(), True
    while improved:
        improved = False
        moves = [{name: lane} for name in names for lane in range(len(names))]
        moves += [{a: lanes[b], b: lanes[a]} for a in names for b in names if a < b]
        for move in moves:
            kept = {name: lanes[name] for name in move}
            lanes.update(move)
            if (found := cost()) < best:
                best, improved = found, True
            else:
                lanes.update(kept)


def _cost(places: Mapping[str, Place], arrows: Sequence[Arrow]) -> float:
    shared = len(places) - len(set(places.values()))
    sideways = sum(abs(places[before][0] - places[after][0]) for before, after in arrows)
    return HIDDEN_COST * (HIDDEN_COST * shared + len(hidden_arrows(places, arrows))) + sideways


def hidden_arrows(places: Mapping[str, Place], arrows: Sequence[Arrow]) -> list[Arrow]:
    """Return the arrows that pass behind the box of another lesson."""
    boxes = set(places.values())
    return [(before, after) for before, after in arrows if _meets(places[before], places[after], boxes)]


def _meets(start: Place, end: Place, boxes: set[Place]) -> bool:
    (lane, row), (last_lane, last_row) = start, end
    top, bottom = row + BOX_HEIGHT / 2, last_row - BOX_HEIGHT / 2
    for box_lane, box_row in boxes:
        if row < box_row < last_row:
            edges = (max(top, box_row - BOX_HEIGHT / 2), min(bottom, box_row + BOX_HEIGHT / 2))
            at = [lane + (last_lane - lane) * (edge - top) / (bottom - top) - box_lane for edge in edges]
            if min(at) < BOX_WIDTH / 2 and max(at) > -BOX_WIDTH / 2:
                return True
    return False
