"""The time left is estimated from the submissions that ended last."""

from __future__ import annotations

import pytest

from grader.classroom.base.progress import Progress, rough_duration


def test_time_left_follows_the_submissions_that_ended_last() -> None:
    times = iter([0.0, 60.0, 120.0, 121.0])
    progress = Progress(12, lambda: next(times))
    assert progress.next_done() == "[  1/12, about 11 min left ]"
    assert progress.next_done() == "[  2/12, about 10 min left ]"
    assert progress.next_done() == "[  3/12, about 6 min left ]"


def test_after_the_last_submission_no_time_is_left() -> None:
    assert Progress(1).next_done() == "[ 1/1 ]"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "1 s"), (89, "89 s"), (95, "2 min"), (5300, "88 min"), (9000, "2.5 h")]
)
def test_duration_is_rough(seconds: float, text: str) -> None:
    assert rough_duration(seconds) == text
