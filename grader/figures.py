"""Draw measurements. Every picture is followed by its numbers as text."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from grader.meters.peak import PeakMemory
from grader.units import MIB, format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that colour-blind readers can distinguish (Okabe and Ito), each with a hatch of its own.
STYLES = {
    "parameter": ("parameters", "#0072B2", ""),
    "optimizer_state": ("optimizer state", "#56B4E9", "//"),
    "gradient": ("gradients", "#D55E00", "\\\\"),
    "activation": ("activations", "#F0E442", ".."),
    "other": ("other", "#999999", "xx"),
}
LINE_STYLES = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", ":"),
    ("#CC79A7", "D", "-."),
    ("#000000", "v", "-"),
    ("#56B4E9", "x", "--"),
    ("#E69F00", "P", ":"),
    ("#666666", "*", "-."),
)
PIXELS_PER_INCH = 110


def draw_bars(peaks: Mapping[str, PeakMemory], *, title: str) -> None:
    """Show peaks side by side, each split by kind, and print the numbers.

    Args:
        peaks: Measurements or forecasts by name.
        title: What is compared.
    """

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        bottoms = [0.0] * len(peaks)
        for kind, (label, colour, hatch) in STYLES.items():
            heights = [getattr(peak, f"{kind}_bytes") / MIB for peak in peaks.values()]
            axes.bar(list(peaks), heights, 0.6, bottoms, label=label, color=colour, hatch=hatch, edgecolor="black")
            bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
        for position, bottom in enumerate(bottoms):
            axes.annotate(f"{bottom:,.1f}", (position, bottom), ha="center", va="bottom")
        axes.set(title=title, ylabel="MiB held at the peak", ylim=(0, 1.12 * max(bottoms)))
        _legend_outside(figure, axes)

    _show(lambda: _render(paint, width_inches=3.5 + 1.4 * len(peaks)), title)
    rows = [
        [name, format_bytes(peak.peak_bytes), *(format_bytes(getattr(peak, f"{kind}_bytes")) for kind in STYLES)]
        for name, peak in peaks.items()
    ]
    _print_table(["", "peak", *(label for label, _, _ in STYLES.values())], rows)


def draw_timelines(peaks: Mapping[str, PeakMemory], *, title: str) -> None:
    """Show what is held over one call, by kind, one panel for each measurement, and print where the peak is.

    Args:
        peaks: Measurements or forecasts by name. On CUDA a measurement keeps no timeline: its bars are drawn instead.
        title: What is compared.
    """
    if not all(peak.timeline for peak in peaks.values()):
        draw_bars(peaks, title=title)
        return
    _show(lambda: render_timelines(peaks, title=title), title)
    rows = []
    for name, peak in peaks.items():
        sample = peak.peak_sample
        place = f"{sample.phase}, at {sample.operator}" if sample else ""
        rows.append([name, format_bytes(peak.peak_bytes), format_bytes(peak.gradient_bytes), place])
    _print_table(["", "peak", "gradients in it", "where"], rows)


def render_timelines(peaks: Mapping[str, PeakMemory], *, title: str) -> bytes:
    """Paint the timelines of measurements that have one.

    Args:
        peaks: Measurements or forecasts by name, one panel for each.
        title: What is compared.

    Returns:
        A PNG picture.
    """
    top = 1.25 * max(peak.peak_bytes for peak in peaks.values()) / MIB

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(peaks), sharey=True, squeeze=False)[0]
        for axes, (name, peak) in zip(panels, peaks.items(), strict=True):
            _paint_timeline(axes, peak)
            axes.set(title=name, xlabel="allocations and frees, in order", ylim=(0, top))
        panels[0].set_ylabel("MiB held")
        figure.suptitle(title)
        _legend_outside(figure, panels[-1])

    return _render(paint, width_inches=2.5 + 4.2 * len(peaks))


def _paint_timeline(axes: Axes, peak: PeakMemory) -> None:
    steps = range(len(peak.timeline))
    layers = [[getattr(sample, f"{kind}_bytes") / MIB for sample in peak.timeline] for kind in STYLES]
    areas = axes.stackplot(steps, layers, labels=[label for label, _, _ in STYLES.values()], step="post")
    for area, (_, colour, hatch) in zip(areas, STYLES.values(), strict=True):
        area.set(facecolor=colour, hatch=hatch, edgecolor="black", linewidth=0.3)
    highest = max(steps, key=lambda step: peak.timeline[step].held_bytes)
    text = f"peak {format_bytes(peak.peak_bytes)}\nin {peak.timeline[highest].phase}"
    side = "right" if highest > len(steps) / 2 else "left"
    axes.annotate(text, (highest, peak.peak_bytes / MIB), ha=side, va="bottom")
    axes.plot([highest], [peak.peak_bytes / MIB], "v", color="black")


def draw_curves(
    positions: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    names: Sequence[str] = (),
    marks: Mapping[int, str] | None = None,
) -> None:
    """Show curves over one axis and print the numbers.

    Args:
        positions: Where the points are on the horizontal axis; shown at equal distances.
        curves: Values by name, as long as `positions`.
        title: What is shown.
        x_label: Name of the horizontal axis, with its unit.
        y_label: Name of the vertical axis, with its unit.
        names: What is written at the positions; the numbers themselves where there are none.
        marks: A text for some of the positions, by their place in `positions`; a line is drawn there.

    Raises:
        ValueError: if there are more curves than lines that are easy to distinguish.
    """
    if len(curves) > len(LINE_STYLES):
        raise ValueError(f"{len(curves)} curves, of which a figure shows at most {len(LINE_STYLES)}: draw two figures")
    width_inches = 10.0 if names else 8.0  # words need more room than numbers
    names = list(names) or [f"{position:g}" for position in positions]
    marks = marks or {}

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for (name, values), (colour, marker, line) in zip(curves.items(), LINE_STYLES, strict=False):
            axes.plot(names, values, color=colour, marker=marker, linestyle=line, label=name)
        axes.set(title=title, xlabel=x_label, ylabel=y_label)
        top = 1.1 * max(max(values) for values in curves.values())
        axes.set_ylim(0, top)
        for index, text in marks.items():
            axes.axvline(index, color="black", linewidth=0.8)
            axes.annotate(f" {text}", (index, 0.98 * top), ha="left", va="top")
        axes.grid(axis="y", alpha=0.4)
        _legend_outside(figure, axes)

    _show(lambda: _render(paint, width_inches=width_inches), title)
    rows = [[name, *(_three_digits(values[index]) for values in curves.values())] for index, name in enumerate(names)]
    _print_table([x_label, *curves], rows)
    for index, text in marks.items():
        print(f"{names[index]}: {text}")


def draw_batches(
    batches: Mapping[str, Sequence[Sequence[Sequence[int]]]], *, title: str, widths: Mapping[str, int] | None = None
) -> None:
    """Show the positions of batches, one panel for each way to make them, and print how many hold a token.

    Args:
        batches: For each name its batches; each batch is a list of rows, and each row the tokens of its texts.
        title: What is compared.
        widths: Positions of every row, for names whose batches are not as wide as their longest row.
    """
    grids = {
        name: [(max((widths or {}).get(name, 0), *(sum(row) for row in batch)), batch) for batch in made]
        for name, made in batches.items()
    }
    across = max(width for made in grids.values() for width, _ in made)
    down = max(sum(len(batch) + 1 for _, batch in made) for made in grids.values())

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(grids), sharey=True, squeeze=False)[0]
        for axes, (name, made) in zip(panels, grids.items(), strict=True):
            _paint_batches(axes, made)
            axes.set(title=name, xlabel="positions", xlim=(0, 1.02 * across), ylim=(down, -1), yticks=[])
        panels[0].set_ylabel("rows, batch by batch")
        figure.suptitle(title)
        _legend_outside(figure, panels[0])

    _show(lambda: _render(paint, width_inches=2.5 + 2.2 * len(grids)), title)
    rows = []
    for name, made in grids.items():
        positions = sum(width * len(batch) for width, batch in made)
        tokens = sum(sum(row) for _, batch in made for row in batch)
        rows.append([name, len(made), positions, positions - tokens, f"{1 - tokens / positions:.0%}"])
    _print_table(["", "batches", "positions", "padding", "share"], rows)


def _paint_batches(axes: Axes, batches: Sequence[tuple[int, Sequence[Sequence[int]]]]) -> None:
    top = 0
    texts: list[tuple[int, int, int]] = []  # row, first position, tokens
    padding: list[tuple[int, int, int]] = []
    for width, batch in batches:
        for row in batch:
            start = 0
            for length in row:
                texts.append((top, start, length))
                start += length
            padding.append((top, start, width - start))
            top += 1
        top += 1  # a gap between two batches
    for label, bars, colour, hatch in (("tokens", texts, "#56B4E9", ""), ("padding", padding, "#FFFFFF", "////")):
        places, starts, lengths = zip(*bars, strict=True)
        axes.barh(
            places, lengths, 0.9, left=starts, label=label, color=colour, hatch=hatch, edgecolor="black", linewidth=0.5
        )


def draw_points(points: Mapping[str, tuple[float, float]], *, title: str, x_label: str, y_label: str) -> None:
    """Show named points and print their places.

    Args:
        points: For each name its place on both axes.
        title: What is compared.
        x_label: Name of the horizontal axis, with its unit.
        y_label: Name of the vertical axis, with its unit.
    """

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for name, (across, up) in points.items():
            axes.plot([across], [up], marker="o", color=LINE_STYLES[0][0])
            axes.annotate(f" {name}", (across, up), ha="left", va="bottom")
        furthest, highest = (max(place[axis] for place in points.values()) for axis in (0, 1))
        axes.set(title=title, xlabel=x_label, ylabel=y_label, xlim=(-0.05 * furthest, 1.3 * furthest))
        axes.set_ylim(0, 1.2 * highest)
        axes.grid(alpha=0.4)

    _show(lambda: _render(paint, width_inches=8.0), title)
    rows = [[name, *(_three_digits(value) for value in place)] for name, place in points.items()]
    _print_table(["", x_label, y_label], rows)


def draw_spans(spans: Mapping[str, Mapping[str, tuple[float, float]]], *, title: str, x_label: str) -> None:
    """Show spans on one logarithmic axis, a row for each name, and print their ends.

    Args:
        spans: For each name its parts by label, each from a smallest to a largest value above 0; all names have the
            same labels.
        title: What is shown.
        x_label: Name of the axis, with its unit.
    """

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        _paint_spans(axes, spans)
        axes.set(title=title, xlabel=x_label)
        _legend_outside(figure, axes)

    _show(lambda: _render(paint, width_inches=9.0), title)
    ends = [text for label in next(iter(spans.values())) for text in (f"{label} from", "to")]
    rows = [[name, *(f"{end:.3g}" for span in parts.values() for end in span)] for name, parts in spans.items()]
    _print_table(["", *ends], rows)


def draw_roofline(
    points: Mapping[str, tuple[float, float]], flops_per_second: float, bytes_per_second: float, *, title: str
) -> None:
    """Show operations below the two roofs of a device, on logarithmic axes, and print their places.

    Args:
        points: For each operation its FLOPs per byte, and the FLOP/s that it reached.
        flops_per_second: The device's rate of computing: the flat roof.
        bytes_per_second: The device's rate of moving bytes: the slope of the other roof.
        title: What is compared.
    """
    ridge = flops_per_second / bytes_per_second
    ends = [*(across for across, _ in points.values()), ridge]
    span = (min(ends) / 3, 6 * max(ends))

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        roof = [min(flops_per_second, across * bytes_per_second) for across in (span[0], ridge, span[1])]
        axes.plot([span[0], ridge, span[1]], roof, color="black", label="roof")
        axes.axvline(ridge, color="black", linewidth=0.8, linestyle=":")
        for name, (across, up) in points.items():
            axes.plot([across], [up], marker="o", color=LINE_STYLES[0][0])
            axes.annotate(f"  {name}", (across, up), ha="left", va="top")
        axes.set(title=title, xlabel="FLOPs per byte", ylabel="FLOP/s", xscale="log", yscale="log", xlim=span)
        axes.grid(alpha=0.4)

    _show(lambda: _render(paint, width_inches=8.0), title)
    rows = []
    for name, (across, up) in points.items():
        roof = min(flops_per_second, across * bytes_per_second)
        rows.append([name, f"{across:.3g}", f"{up / 1e9:.3g}", f"{up / roof:.0%}"])
    _print_table(["", "FLOPs per byte", "GFLOP/s", "of the roof"], rows)
    print(f"the roofs meet at {ridge:.3g} FLOPs per byte")


def draw_trace(events: Sequence[Mapping[str, Any]], *, title: str, milliseconds: float = 0.0) -> None:
    """Show a trace as one row for each kind of event and stream, and print the sums of its durations.

    Args:
        events: Events of a Chrome trace with `cat`, `name`, `ts` and `dur` in microseconds.
        title: What is shown.
        milliseconds: How much of the trace the picture shows, from the second step on; all of it if left out.
    """
    steps = sorted(event["ts"] for event in events if event["name"].startswith("ProfilerStep"))
    start = steps[1] if milliseconds and len(steps) > 1 else min(event["ts"] for event in events)
    lanes: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        if lane := _lane_of(event):
            lanes.setdefault(lane, []).append(((event["ts"] - start) / 1e3, event["dur"] / 1e3))

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for row, (lane, parts) in enumerate(sorted(lanes.items())):
            colour = LINE_STYLES[0 if lane.startswith("CPU") else 1][0]
            axes.broken_barh(parts, (row - 0.35, 0.7), facecolor=colour, edgecolor="black", linewidth=0.2)
        axes.set(title=title, xlabel="milliseconds", yticks=range(len(lanes)), yticklabels=sorted(lanes))
        if milliseconds:
            axes.set_xlim(0, milliseconds)
        axes.invert_yaxis()

    _show(lambda: _render(paint, width_inches=9.0), title)
    rows = [[lane, len(parts), f"{sum(length for _, length in parts):.3g}"] for lane, parts in sorted(lanes.items())]
    _print_table(["", "events", "sum of ms"], rows)


def _lane_of(event: Mapping[str, Any]) -> str:
    """Return the row of an event in a picture; nothing for what is not shown."""
    category, name = event.get("cat"), event["name"]
    if category == "kernel":
        return f"device, stream {event['args']['stream']}"
    if "DataLoader" in name:
        return "CPU: loading"
    if category == "cuda_runtime":
        return "CPU: waiting" if "Synchronize" in name else "CPU: launching"
    return "CPU: operators" if category == "cpu_op" else ""


def _paint_spans(axes: Axes, spans: Mapping[str, Mapping[str, tuple[float, float]]]) -> None:
    hatches = ("", "//", "..", "xx")
    axes.set_xscale("log")
    for label, (colour, _, _), hatch in zip(next(iter(spans.values())), LINE_STYLES, hatches, strict=False):
        starts = [parts[label][0] for parts in spans.values()]
        lengths = [parts[label][1] - parts[label][0] for parts in spans.values()]
        bars = axes.barh(list(spans), lengths, 0.6, left=starts, label=label, color=colour, hatch=hatch)
        for bar in bars:
            bar.set(edgecolor="black", linewidth=0.5)
    ends = [end for parts in spans.values() for span in parts.values() for end in span]
    axes.set_xlim(min(ends) / 10, 10 * max(ends))  # bars on a logarithmic axis are cut off without it
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.4)


def _three_digits(value: float) -> str:
    """Write a number with three digits at least; from 10 on with one decimal place."""
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:#.3g}"


def _legend_outside(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside right center", frameon=False)


def _show(render: Callable[[], bytes], title: str) -> None:
    """Show a picture in the notebook, with a text for those who do not see it; outside a notebook nothing is painted.

    JupyterLab shows an image/png without its text, and a text/html with it; other readers take the image/png.
    """
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is None:
        return
    picture = base64.b64encode(render()).decode()
    text = f"{title}. The numbers follow as text."
    element = f'<img src="data:image/png;base64,{picture}" alt="{html.escape(text)}">'
    data = {"image/png": picture, "text/html": element, "text/plain": text}
    display(data, raw=True, metadata={"image/png": {"alt": text}})


def _render(paint: Callable[[Figure], None], *, width_inches: float) -> bytes:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_inches, 3.8), layout="constrained", facecolor="white")
    paint(figure)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=PIXELS_PER_INCH)
    return picture.getvalue()


def _print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    lines = [header, *rows]
    widths = [max(len(str(line[column])) for line in lines) for column in range(len(header))]
    for line in lines:
        first = str(line[0]).ljust(widths[0])
        print(first, *(str(cell).rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)), sep="  ")
