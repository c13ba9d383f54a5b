"""Ranks that did not run their own micro-batches are named."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grader.judging.rank_rows import RankRows

CASE = SimpleNamespace(world_size=2, micro_batches=3, k=2, rows=4)


def judge(seen: list[list[int]], forward_rows: int = CASE.rows) -> str | None:
    """Judge two ranks, of three micro-batches each; -1 is a forward on inputs that are none of them."""
    reports = [{"seen": [[index] for index in own], "forward_rows": [forward_rows] * len(own)} for own in seen]
    verdict = RankRows(CASE, reports).judge()
    return verdict.code if verdict else None


def test_ranks_that_run_their_own_micro_batches_have_no_verdict():
    assert judge([[0, 2, 4], [1, 3, 5]]) is None


@pytest.mark.parametrize(
    ("code", "seen", "forward_rows"),
    [
        ("no_forward", [[], []], 4),
        ("rows_split_over_ranks", [[-1] * 6, [-1] * 6], 2),
        ("other_inputs", [[-1, 2, 4], [1, 3, 5]], 4),
        ("all_rows_on_every_rank", [[0, 1, 2, 3, 4, 5]] * 2, 4),
        ("same_rows_on_every_rank", [[0, 2, 4]] * 2, 4),
        ("rows_in_one_piece", [[0, 1, 2], [3, 4, 5]], 4),
        ("last_group_lost", [[0, 2], [1, 3]], 4),
        ("rows_repeated", [[0, 2, 4, 4], [1, 3, 5, 5]], 4),
        ("other_rows", [[1, 3, 5], [0, 2, 4]], 4),
    ],
)
def test_the_micro_batches_of_the_wrong_rank_are_named(code, seen, forward_rows):
    assert judge(seen, forward_rows) == code
