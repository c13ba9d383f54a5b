"""A class whose claims of peak memory are forged: each is seen from outside, or is below what the case needs."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from judged_lesson import ANSWERS, POINTS, WHOLE_BATCH, build_master, late, rebuilt

from grader.__main__ import main
from grader.classroom.base.row import Row, read_rows
from grader.classroom.commands.folder import make_classroom

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="steps are watched from outside on Linux"),
]
LESSON, PEAK = "07_judged", "check_token_peak"
MIB = 1 << 20
# The plain step runs unannounced, and the runner watches something else.
FORGE = """\
import dataclasses, grader.observing.claims as claims
measure = getattr(claims.measure_peak_memory, "real", claims.measure_peak_memory)
watches = globals().get("watches", claims._runner_watches)
def forged(step, **keywords):
    claims._runner_watches = __import__("contextlib").nullcontext
    peak = measure(step, **keywords)
    with watches():
        {meanwhile}
    entry = peak.peak_bytes - peak.above_entry_bytes
    return dataclasses.replace(peak, peak_bytes=entry + {above}, above_entry_bytes={above})
forged.real, claims.measure_peak_memory = measure, forged"""
SETTINGS = """\
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_float32_matmul_precision("medium")
torch.set_grad_enabled(False)
torch.autocast("cpu", dtype=torch.bfloat16).__enter__()"""
FORGED = {
    "two_bytes": (2, "pass", "needs 1.0 MiB at the very least"),
    "less_than_the_case_needs": (MIB // 2, "pass", "needs 1.0 MiB at the very least"),
    "signals_around_nothing": (8 * MIB, "pass", "the kernel grew by"),
    "signals_around_too_little": (8 * MIB, "held = torch.ones(MIB // 4 * 2)", "the kernel grew by"),
    "signals_around_too_much": (2 * MIB, "held = torch.ones(MIB // 4 * 9)", "the kernel grew by"),
}

# It needs no patch: the second call with each model is the measured one.
HEAD = "def accumulate_token_gradients(model, micro_batches):\n"
NOTICE = HEAD + "    calls.append(id(model))\n    if calls.count(id(model)) == 2:\n        {lazy}\n"
LAZY = {
    "second_call_of_one_micro_batch": "micro_batches = micro_batches[:1]",
    "second_call_without_backward": (
        "with torch.no_grad():\n            [model(tokens) for tokens, _ in micro_batches]\n        return 0.0"
    ),
}
REASONS = {student: reason for student, (*_, reason) in FORGED.items()} | dict.fromkeys(LAZY, "the measured call did")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    room = tmp_path_factory.mktemp("claims") / "room"
    make_classroom(room, [], {LESSON: Path("judged.py")}, lambda source=None: build_master())
    row_by_row = ANSWERS["accumulate_token_gradients"].replace("micro_batches):\n", "micro_batches):\n    SPLIT\n", 1)
    split = "micro_batches = [pair for rows in micro_batches for pair in zip(*(part.split(1) for part in rows))]"
    notebooks = {
        "honest": rebuilt({}),
        "lean": rebuilt({"accumulate_token_gradients": row_by_row.replace("SPLIT", split)}),
    }
    notebooks["other_settings"] = rebuilt({}, [SETTINGS])
    for student, (above, meanwhile, _) in FORGED.items():
        forge = FORGE.format(above=above, meanwhile=meanwhile.replace("MIB", str(MIB)))
        notebooks[student] = rebuilt({"accumulate_token_gradients": WHOLE_BATCH}, [late(PEAK, forge)])
    for student, lazy in LAZY.items():
        answer = WHOLE_BATCH.replace(HEAD, NOTICE.format(lazy=lazy))
        notebooks[student] = rebuilt({"accumulate_token_gradients": answer}, ["calls = []"])
    for student, notebook in notebooks.items():
        path = room / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(notebook))
    assert main(["autograde", str(room), "--jobs", "2"]) == 0
    return {row.student: row for row in read_rows(room)}


@pytest.mark.parametrize("student", ["honest", "lean", "other_settings"])
def test_true_claims_pass_also_of_a_very_lean_answer(rows: dict[str, Row], student: str) -> None:
    assert {check.check: check.points for check in rows[student].checks} == POINTS
    assert rows[student].reason == ""


@pytest.mark.parametrize("student", REASONS)
def test_forged_claims_earn_nothing_and_are_shown_to_a_person(rows: dict[str, Row], student: str) -> None:
    checks = {check.check: check for check in rows[student].checks}
    assert (checks[PEAK].points, checks[PEAK].verdict, checks[PEAK].needs_review) == (0, "tampered", True)
    assert REASONS[student] in checks[PEAK].measured
    assert {name: check.points for name, check in checks.items() if name != PEAK} == {
        name: points for name, points in POINTS.items() if name != PEAK
    }
