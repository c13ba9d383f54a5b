"""Rows keep what grading found through the file that holds them."""

from __future__ import annotations

import json

from grader.classroom.base.row import GRADED, Row, Score

# As an earlier version wrote it, with the reason that is derived here.
ENTRY = {
    "student": "ada",
    "lesson": "02",
    "status": GRADED,
    "reason": "",
    "checks": [
        {
            "check": "check_double",
            "exercise": "double",
            "part": "core",
            "points": 1.5,
            "maximum": 2.0,
            "verdict": "fail",
            "code": "squared",
            "expected": "8",
            "measured": "16",
            "look_at": "the exponent",
            "reason": "squared: 16; the exponent",
            "seconds": 0.1,
            "needs_review": False,
            "manual": True,
            "because": "a good idea",
            "given_as": [1.5, "a good idea"],
            "given_for": "d1",
        }
    ],
}


def test_row_that_an_earlier_version_wrote_is_read_and_written_alike() -> None:
    row = Row.from_json(ENTRY)
    assert row.checks[0].given_as == (1.5, "a good idea")
    assert json.loads(json.dumps(row.to_json()["checks"])) == ENTRY["checks"]


def test_fields_of_a_later_version_are_left_out() -> None:
    score = Score("check_double", "double", "core", 2.0, 2.0, "pass")
    row = Row("ada", "02", GRADED, "", [score])
    later = row.to_json() | {"invented_later": 1, "checks": [score.to_json() | {"invented_later": 1}]}
    assert Row.from_json(later) == row
