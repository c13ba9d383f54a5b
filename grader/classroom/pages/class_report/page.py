"""The page around the report's sections: plain HTML that needs nothing from outside and fits a phone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .charts import PATTERNS

STYLE = """\
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 0 1rem 3rem; background: #fff; color: #1a1a1a;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1.2rem 0 0.3rem; }
h2 { font-size: 1.3rem; margin: 2.2rem 0 0.5rem; padding-top: 0.6rem; border-top: 2px solid #1a1a1a;
  overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 0.3rem; }
p, ul { margin: 0.4rem 0; }
ul { padding-left: 1.2rem; }
li, p { overflow-wrap: anywhere; }
td { overflow-wrap: break-word; }
code, td.name { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 0.86em; }
a { color: #1f5fa8; }
svg { display: block; width: 100%; max-width: 32rem; height: auto; margin: 0.6rem 0; }
svg text { font: 10px system-ui, "DejaVu Sans", sans-serif; fill: #1a1a1a; }
svg text.label { font-weight: 600; paint-order: stroke; stroke: #fff; stroke-width: 3px; }
svg .axis { stroke: #1a1a1a; stroke-width: 1; }
svg .grid { stroke: #c8c8c8; stroke-width: 0.7; }
svg .whisker { stroke: #1a1a1a; stroke-width: 1.3; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; margin: 0.4rem 0 1rem; }
caption { text-align: left; color: #555; padding-bottom: 0.2rem; }
table:not(.wide) { max-width: 32rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem 0.3rem 0; border-bottom: 1px solid #d5d5d5; }
th { border-bottom: 1.5px solid #1a1a1a; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.note { color: #555; font-size: 0.9rem; }
.flag { font-weight: 700; }
@media (max-width: 40rem) {
  table.wide thead { position: absolute; left: -9999px; }
  table.wide tr { display: block; padding: 0.4rem 0; border-bottom: 1.5px solid #999; }
  td { overflow-wrap: anywhere; }
  table.wide td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: 0.08rem 0;
    text-align: right; }
  table.wide td::before { content: attr(data-label); flex: none; color: #555; font-family: system-ui, sans-serif; }
  table.wide td.name { display: block; font-weight: 700; text-align: left; }
  table.wide td.name::before { content: none; }
  table.wide td.text { display: block; text-align: left; }
  table.wide td.text::before { content: attr(data-label) ": "; }
  table.wide td:empty { display: none; }
}
@media print { svg, tr { break-inside: avoid; } }
"""
NUMBER, NAME, TEXT = "number", "name", "text"
Column = tuple[str, str]  # heading, and what it holds: NUMBER, NAME or TEXT


def page(title: str, sections: Sequence[str]) -> str:
    """Return a whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n"
        f"{PATTERNS}\n" + "\n".join(sections) + "\n</main>\n</body>\n</html>\n"
    )


def table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> str:
    """Return a table; one with more than three columns becomes a list of cards on a phone."""
    head = "".join(f'<th scope="col" class="{kind}">{escape(heading)}</th>' for heading, kind in columns)
    body = "\n".join(f"<tr>{_cells(columns, row)}</tr>" for row in rows)
    kind = ' class="wide"' if len(columns) > 3 else ""
    return (
        f"<table{kind}><caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table>"
    )


def _cells(columns: Sequence[Column], row: Sequence[object]) -> str:
    pairs = zip(columns, row, strict=True)
    return "".join(
        f'<td class="{kind}" data-label="{escape(heading, quote=True)}">{escape(str(cell))}</td>'
        for (heading, kind), cell in pairs
    )


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f"<p{f' class={kind!r}' if kind else ''}>{escape(text)}</p>"


def heading(level: int, text: str, anchor: str = "") -> str:
    """Return a heading."""
    name = f' id="{escape(anchor, quote=True)}"' if anchor else ""
    return f"<h{level}{name}>{escape(text)}</h{level}>"
