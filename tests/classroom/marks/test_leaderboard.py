"""The ranking of the capstone's runs: read from what the judge says, fair between runs of different FLOPs."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.classroom.base.row import GRADED, Row, Score
from grader.classroom.marks.leaderboard import LESSON, LINE, leaderboard
from grader.classroom.pages.class_report.writing import report_page
from grader.judging.lessons.capstone.job import allowed_share
from grader.lessons.capstone import checks
from grader.verdict import PASSED


def row_of(student: str, measured: str, *, passed: bool = True, check: str = "check_lean_costs") -> Row:
    score = Score(check, "train_leanly", "core", 3.0, 3.0 * passed, "pass" if passed else "fail", measured=measured)
    return Row(student, LESSON, GRADED, "", [score])


def said(peak: float, flops: float, plain: float = 100.0) -> str:
    return f"{peak:.1f} MiB, {peak / plain:.0%} of the plain run's {plain:.1f} MiB, at {flops:.2f} times its FLOPs"


def test_the_line_is_the_judge_s() -> None:
    for flops, share in LINE:
        assert allowed_share(flops) == pytest.approx(share)
    places = leaderboard([row_of(str(n), said(10, 1 + n / 100)) for n in range(0, 26)])
    for place in places:
        assert place.of_allowed == pytest.approx(place.share / allowed_share(place.flops))


def test_a_run_is_ranked_by_what_it_holds_of_what_is_allowed_at_its_flops() -> None:
    rows = [row_of("kept", said(22, 1.0)), row_of("again", said(12.1, 1.22)), row_of("half", said(17, 1.11))]
    rows += [row_of("dear", said(22, 1.01)), row_of("failed", said(5, 1.0), passed=False), row_of("old", "")]
    places = leaderboard(rows)
    assert [place.student for place in places] == ["again", "half", "kept", "dear"]
    assert [place.student for place in places if place.is_beaten] == ["dear"]


def test_what_the_judge_says_of_a_run_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from grader.judging.lessons.capstone import job

    case = job.make_job_case(0)
    plain = job._plain_peak(case, "cpu").peak_bytes
    claim = {"peak_bytes": plain // 5, "above_entry_bytes": plain // 8, "entry_bytes": plain // 5 - plain // 8}
    costs = dict.fromkeys(("largest", "most_waiting", "recomputed", "logit_rows", "operators"), 0)
    costs |= {"flops": job._plain_flops(case), "positions": case.updates * case.rows * case.time}
    facts = {"costs": costs, "claims": [claim | {"device": "cpu"}]}
    verdict = job.judge_lean_costs(checks.Observation(facts), 0)
    assert verdict.code == PASSED
    (place,) = leaderboard([row_of("ada", verdict.measured)])
    assert (place.share, place.flops) == (pytest.approx(0.2, abs=2e-3), 1.0)


def test_the_report_draws_the_runs_and_names_the_best(tmp_path: Path) -> None:
    page = report_page([row_of("ada", said(22, 1.0)), row_of("bob", said(12.1, 1.22), check="check_library_run")], {})
    section = page.partition("Lean runs: bytes and FLOPs</h3>")[2].partition("<details")[0]
    assert section.count("<circle") == 2 and "<polyline" in section
    assert section.index(">bob<") < section.index(">ada<")
    assert "Lean runs" not in report_page([row_of("ada", said(50, 1.0), passed=False)], {})
