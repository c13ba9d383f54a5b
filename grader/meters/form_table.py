"""Run one training in several forms, and compare weights, peak memory and time."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import nn

from grader.meters.measurement import measure_peak_memory
from grader.meters.weight_distance import measure_weight_distance
from grader.units import MIB, format_seconds

Run = Callable[[nn.Module], object]


@dataclass(frozen=True)
class FormRow:
    """One form of a training.

    Attributes:
        name: Its name.
        distance: How far its weights end from those of the reference, as a share of the way from the start.
        peak_bytes: The peak of a whole run, from the second run on.
        update_seconds: The time of a run, divided by its updates.
    """

    name: str
    distance: float
    peak_bytes: int
    update_seconds: float


@dataclass(frozen=True, repr=False)
class FormTable:
    """The forms in order; the first one is the plain run, which peaks are compared with.

    Attributes:
        rows: One entry for each form.
        reference: The form that weights are compared with.
    """

    rows: tuple[FormRow, ...]
    reference: str

    def __repr__(self) -> str:
        plain = self.rows[0].peak_bytes
        lines = [f"{'':<12}{'from ' + self.reference:>10}{'peak':>13}{'of plain':>11}{'an update':>13}"]
        for row in self.rows:
            peak, seconds = f"{row.peak_bytes / MIB:.1f} MiB", format_seconds(row.update_seconds)
            lines.append(f"{row.name:<12}{row.distance:>10.2%}{peak:>13}{row.peak_bytes / plain:>11.0%}{seconds:>13}")
        return "\n".join(lines)


def compare_forms(
    runs: Mapping[str, Run], make_model: Callable[[], nn.Module], *, updates: int, reference: str = "raw"
) -> FormTable:
    """Train a new model in each form, and compare.

    Each form runs three times: twice under the memory meter, then once for the time and the weights. What a run prints
    is left out.

    Args:
        runs: Functions that train the model that they receive; the plain run comes first.
        make_model: Builds the model on its device, with the same weights each time.
        updates: Updates of a run.
        reference: Name of the run whose weights the others are compared with.

    Returns:
        A row for each form; printed, it is a table.
    """
    start, models, peaks, seconds = make_model(), {}, {}, {}
    with contextlib.redirect_stdout(io.StringIO()):
        for name, run in runs.items():
            metered = make_model()
            peaks[name] = measure_peak_memory(_on(run, metered), model=metered).peak_bytes
            timed = models[name] = make_model()
            begun = time.perf_counter()
            run(timed)
            seconds[name] = (time.perf_counter() - begun) / updates
    distances = {name: measure_weight_distance(model, models[reference], start) for name, model in models.items()}
    return FormTable(tuple(FormRow(name, distances[name], peaks[name], seconds[name]) for name in runs), reference)


def _on(run: Run, model: nn.Module) -> Callable[[], object]:
    return lambda: run(model)
