"""Charts as inline SVG: 360 units wide, so that a phone shows them at their own size; a text stands at each mark.

Patterns and texts tell series apart, not colours alone. The page puts the same data into a table below.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from grader.classroom.base.storage import one_line

WIDTH = 360
LABEL_HEIGHT, BAR_HEIGHT, GAP = 17, 13, 8
LONGEST_LABEL = 56  # characters that fit; the table has the whole name
PLOT_LEFT, PLOT_RIGHT = 8, 318  # a value stands to the right of its bar
PATTERNS = (  # once on a page, above its charts
    '<svg width="0" height="0" aria-hidden="true"><defs>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" fill="#fff"/><rect width="2.5" height="6" fill="#b35900"/></pattern></defs></svg>'
)
SOLID, SECOND = "#1f5fa8", "#b35900"


def histogram(counts: Sequence[int], edges: Sequence[str], axis: str, title: str) -> str:
    """Return upright bars side by side, each with its count, and the bins' edges below.

    Args:
        counts: How many are in each bin.
        edges: Texts below the edges, one more than bins; "" for none.
        axis: What the edges are, with the unit.
        title: What the chart says, for those who do not see it.
    """
    height, base, left = 190, 150, 20
    step = (WIDTH - 2 * left) / len(counts)
    scale = 120 / max(1, *counts)
    parts = [f'<line x1="{left}" y1="{base}" x2="{WIDTH - left}" y2="{base}" class="axis"/>']
    for place, count in enumerate(counts):
        x, tall = left + place * step, count * scale
        parts.append(
            f'<rect x="{x + 1:.1f}" y="{base - tall:.1f}" width="{step - 2:.1f}" height="{tall:.1f}" fill="{SOLID}"/>'
        )
        if count:
            parts.append(_text(x + step / 2, base - tall - 4, str(count), "middle"))
    for place, edge in enumerate(edges):
        if edge:
            parts.append(_text(left + place * step, base + 14, edge, "middle"))
    parts.append(_text(WIDTH / 2, height - 8, axis, "middle"))
    return _svg(height, title, "".join(parts))


def bars(items: Sequence[tuple[str, float, str]], title: str) -> str:
    """Return lying bars: label, value, text at its end; the longest fills the width."""
    most = max((value for _, value, _ in items), default=0) or 1
    return paired_bars([(label, [(value / most, text)]) for label, value, text in items], title)


def paired_bars(items: Sequence[tuple[str, Sequence[tuple[float, str]]]], title: str) -> str:
    """Return groups of lying bars: label above, then (share of the width, text) for each; the second is hatched."""
    parts: list[str] = []
    y, width = 4.0, 250
    for label, series in items:
        parts.append(_text(PLOT_LEFT, y + LABEL_HEIGHT - 6, one_line(label, LONGEST_LABEL), "start", "label"))
        y += LABEL_HEIGHT
        for place, (share, text) in enumerate(series):
            fill, edge = ("url(#hatch)", SECOND) if place else (SOLID, SOLID)
            long = max(0.0, min(1.0, share)) * width
            parts.append(
                f'<rect x="{PLOT_LEFT}" y="{y:.1f}" width="{long:.1f}" height="{BAR_HEIGHT - 3}" '
                f'fill="{fill}" stroke="{edge}"/>'
            )
            parts.append(_text(PLOT_LEFT + long + 5, y + BAR_HEIGHT - 4, text, "start"))
            y += BAR_HEIGHT
        y += GAP
    return _svg(int(y) + 2, title, "".join(parts))


def intervals(items: Sequence[tuple[str, float, float, float]], title: str) -> str:
    """Return points with their intervals on a line from -1 to 1: label, low, value, high."""
    parts: list[str] = []
    y = 4.0
    bottom = 4.0 + len(items) * (LABEL_HEIGHT + BAR_HEIGHT + GAP)
    for tick in (-1.0, -0.5, 0.0, 0.5, 1.0):
        parts.append(f'<line x1="{_at(tick):.1f}" y1="4" x2="{_at(tick):.1f}" y2="{bottom:.1f}" class="grid"/>')
        parts.append(_text(_at(tick), bottom + 13, f"{tick:g}", "middle"))
    for label, low, value, high in items:
        parts.append(_text(PLOT_LEFT, y + LABEL_HEIGHT - 6, one_line(label, LONGEST_LABEL), "start", "label"))
        y += LABEL_HEIGHT
        middle = y + BAR_HEIGHT / 2
        parts.append(f'<line x1="{_at(low):.1f}" y1="{middle}" x2="{_at(high):.1f}" y2="{middle}" class="whisker"/>')
        for end in (low, high):
            parts.append(
                f'<line x1="{_at(end):.1f}" y1="{middle - 4}" x2="{_at(end):.1f}" y2="{middle + 4}" class="whisker"/>'
            )
        parts.append(f'<circle cx="{_at(value):.1f}" cy="{middle}" r="4" fill="{SOLID}"/>')
        parts.append(_text(PLOT_RIGHT + 10, middle + 4, f"{value:.2f}", "start"))
        y += BAR_HEIGHT + GAP
    return _svg(int(bottom) + 20, title, "".join(parts))


def _at(value: float) -> float:
    return 16 + (value + 1) / 2 * (PLOT_RIGHT - 26)


def _text(x: float, y: float, text: str, anchor: str, kind: str = "value") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _svg(height: int, title: str, inside: str) -> str:
    said = escape(title, quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{said}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{said}</title>{inside}</svg>"
    )
