"""Pictures and the numbers below them."""

import matplotlib.figure
import matplotlib.image
import pytest
import torch
from matplotlib.axes import Axes

from grader import figures
from grader.figures import (
    _paint_batches,
    _paint_spans,
    draw_bars,
    draw_batches,
    draw_curves,
    draw_points,
    draw_roofline,
    draw_spans,
    draw_timelines,
    draw_trace,
    render_timelines,
)
from grader.meters.measurement import measure_peak_memory
from grader.testbed.chain import make_chain


@pytest.fixture(scope="module")
def peak():
    model = make_chain(2, 16, 64)
    inputs = torch.zeros(8, 16)
    return measure_peak_memory(lambda: model(inputs).sum().backward(), model=model, inputs=inputs)


def test_a_timeline_is_a_picture(peak, tmp_path):
    path = tmp_path / "timeline.png"
    path.write_bytes(render_timelines({"first": peak, "second": peak}, title="Two steps"))
    height, width, _ = matplotlib.image.imread(path).shape
    assert (height > 300, width > 800) == (True, True)


@pytest.mark.parametrize("draw", [draw_bars, draw_timelines])
def test_the_numbers_follow_as_text(peak, draw, capsys):
    draw({"plain": peak}, title="One step")
    printed = capsys.readouterr().out
    assert f"{peak.peak_bytes:,.0f} bytes" in printed or "MiB" in printed
    assert "plain" in printed


def test_curves_print_one_line_for_each_position(capsys):
    draw_curves([1, 2], {"measured": [3.0, 4.5]}, title="Peak", x_label="k", y_label="MiB")
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["k", "measured"],
        ["1", "3.00"],
        ["2", "4.50"],
    ]


def test_curves_print_the_names_of_positions_and_what_is_marked(capsys):
    labels = {"title": "Time", "x_label": "tensor", "y_label": "s"}
    draw_curves([1, 2], {"ring": [3.0, 4.5]}, names=["1 KiB", "2 KiB"], marks={1: "equal"}, **labels)
    assert capsys.readouterr().out.splitlines()[1:] == ["1 KiB   3.00", "2 KiB   4.50", "2 KiB: equal"]


def test_every_curve_is_painted(monkeypatch):
    painted = []
    monkeypatch.setattr(Axes, "plot", lambda axes, *values, **style: painted.append(tuple(style.values())))
    monkeypatch.setattr(figures, "_legend_outside", lambda figure, axes: None)
    monkeypatch.setattr(figures, "_show", lambda render, title: render())
    curves = {f"curve {number}": [number, 1] for number in range(9)}
    with pytest.raises(ValueError, match="9 curves, of which a figure shows at most 8"):
        draw_curves([1, 2], curves, title="Nine", x_label="x", y_label="y")
    curves.pop("curve 8")
    draw_curves([1, 2], curves, title="Eight", x_label="x", y_label="y")
    assert len(set(painted)) == 8


def test_spans_are_seen_from_end_to_end():
    axes = matplotlib.figure.Figure().subplots()
    _paint_spans(axes, {"bf16": {"subnormal": (9e-41, 1e-38), "normal": (1e-38, 3e38)}})
    assert (axes.get_xlim()[0] < 9e-41, axes.get_xlim()[1] > 3e38, axes.get_xscale()) == (True, True, "log")


def test_spans_print_both_ends_of_every_part(capsys):
    spans = {"fp16": {"subnormal": (2.0**-24, 2.0**-14), "normal": (2.0**-14, 65504.0)}}
    draw_spans(spans, title="Range", x_label="absolute value")
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["subnormal", "from", "to", "normal", "from", "to"],
        ["fp16", "5.96e-08", "6.1e-05", "6.1e-05", "6.55e+04"],
    ]


def test_points_print_their_places(capsys):
    draw_points({"AdamW": (2.4, 0.481), "SGD": (0.0, 0.912)}, title="Loss", x_label="MiB", y_label="loss")
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["MiB", "loss"],
        ["AdamW", "2.40", "0.481"],
        ["SGD", "0.00", "0.912"],
    ]


def test_a_roofline_prints_each_operation_as_a_share_of_its_roof(capsys):
    draw_roofline({"copy": (0.5, 4e9), "product": (100.0, 5e10)}, 1e11, 1e10, title="Roofs")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:3]] == [["copy", "0.5", "4", "80%"], ["product", "100", "50", "50%"]]
    assert lines[3] == "the roofs meet at 10 FLOPs per byte"


def test_a_trace_prints_the_sum_of_each_row(capsys):
    kernel = {"cat": "kernel", "name": "gemm", "ts": 5.0, "dur": 2000.0, "args": {"stream": 7}}
    launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1.0, "dur": 4.0, "args": {}}
    step = {"cat": "user_annotation", "name": "ProfilerStep#0", "ts": 0.0, "dur": 9.0, "args": {}}
    draw_trace([step, launch, kernel, kernel], title="Steps")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["CPU:", "launching", "1", "0.004"], ["device,", "stream", "7", "2", "4"]]


def test_batches_print_their_padding(capsys):
    batches = {"fixed": [[[3], [1]], [[2]]], "dynamic": [[[3], [1]], [[2]]], "packed": [[[3, 1], [2]]]}
    draw_batches(batches, title="Three texts", widths={"fixed": 4, "packed": 4})
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["fixed", "2", "12", "6", "50%"],
        ["dynamic", "2", "8", "2", "25%"],
        ["packed", "1", "8", "2", "25%"],
    ]


def test_the_positions_of_batches_are_painted_as_tokens_and_padding():
    axes = matplotlib.figure.Figure().subplots()
    _paint_batches(axes, [(4, [[3], [1, 2]]), (2, [[2]])])
    bars = {container.get_label(): [bar.get_width() for bar in container] for container in axes.containers}
    assert bars == {"tokens": [3, 1, 2, 2], "padding": [1, 1, 0]}
