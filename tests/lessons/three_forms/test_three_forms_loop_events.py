"""The order of events in lesson 00's loops, and the losses that they return: each misconception is recognised."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import pytest
import torch
from loop_runs import facts_of, losses_of, run_of, train

from grader.judging.lessons.three_forms.loop import judge_losses
from grader.judging.lessons.three_forms.loop_events import judge_events, rows_of_forwards
from grader.lessons.three_forms.loop import raw_run_cases


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


# Events

F, B, U = "forward", "backward", "update"
EVENTS: dict[str, Callable[[list[int]], tuple[list[int], list[str]]]] = {
    "no_forward": lambda rows: ([], []),
    "only_first_batch": lambda rows: (rows[:1], [F, B, U]),
    "last_batch_dropped": lambda rows: (rows[:-1], [F, B, U] * (len(rows) - 1)),
    "epoch_repeated": lambda rows: (rows * 3, [F, B, U] * 3 * len(rows)),
    "two_forwards_each": lambda rows: ([n for n in rows for _ in "ab"], [F, F, B, U] * len(rows)),
    "one_row_at_a_time": lambda rows: ([1] * sum(rows), [F, B, U] * sum(rows)),
    "other_batch_size": lambda rows: ([2] * len(rows), [F, B, U] * len(rows)),
    "other_forwards": lambda rows: (rows[:1] * 7, [F, B, U] * 7),
    "update_before_backward": lambda rows: (rows, [F, U, B] * len(rows)),
    "updated_twice": lambda rows: (rows, [F, B, U, U] * len(rows)),
    "batches_accumulated": lambda rows: (rows, ([F, B, F, B, U] * len(rows))[: 5 * len(rows) // 2]),
}


@pytest.mark.parametrize("setting", [0, 1])
@pytest.mark.parametrize("code", EVENTS)
def test_every_wrong_order_of_events_is_named(code: str, setting: int) -> None:
    case = raw_run_cases(20011)[setting]
    rows, events = EVENTS[code](rows_of_forwards(case))
    facts = {"events": events, "forward_rows": rows, "is_training": [True], "is_autocast": [False]}
    verdict = judge_events(facts, case)
    assert verdict is not None
    assert verdict.code == code


@pytest.mark.parametrize(("fact", "code"), [("is_training", "eval_mode"), ("is_autocast", "autocast_used")])
def test_the_mode_of_every_forward_is_judged(fact: str, code: str) -> None:
    case = raw_run_cases(0)[0]
    facts = facts_of(case)
    facts[fact] = [*facts[fact][:-1], not facts[fact][-1]]
    assert judge_events(facts, case).code == code


# Losses

LOSSES: dict[str, Callable[[list[float], list[int]], list[float]]] = {
    "no_loss_returned": lambda losses, rows: [],
    "one_loss_returned": lambda losses, rows: losses[-1:],
    "other_number_of_losses": lambda losses, rows: losses * 2,
    "losses_divided_by_rows": lambda losses, rows: [a / b for a, b in zip(losses, rows, strict=True)],
    "running_mean_of_losses": lambda losses, rows: [a / (i + 1) for i, a in enumerate(accumulate(losses))],
    "losses_rounded": lambda losses, rows: [round(loss, 2) for loss in losses],
    "other_losses": lambda losses, rows: [loss + 1 / 3 for loss in losses],
}


def test_every_wrong_list_of_losses_is_named() -> None:
    run = run_of(20011, 1)
    tensors = train(run)
    right_losses, rows = losses_of(run, tensors), rows_of_forwards(run.case)
    assert judge_losses(right_losses, tensors, run) is None
    for code, yields in LOSSES.items():
        assert judge_losses(yields(right_losses, rows), tensors, run).code == code
