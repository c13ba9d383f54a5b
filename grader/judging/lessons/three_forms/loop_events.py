"""Judges what a loop does, in which order, before any gradient is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from grader.judging.forms import count
from grader.judging.updates import places_of_updates
from grader.lessons.three_forms.loop import RunCase
from grader.verdict import Verdict

Facts = Mapping[str, Any]


def judge_events(facts: Facts, case: RunCase) -> Verdict | None:
    """Find what is wrong with the forwards, backwards and updates of one run over `case`."""
    return _judge_modes(facts) or _judge_forwards(facts, case) or _judge_order(facts["events"], case)


def _judge_modes(facts: Facts) -> Verdict | None:
    if not all(facts["is_training"]):
        evaluated = facts["is_training"].count(False)
        expected = "the model in train mode in every forward"
        measured = f"the model in eval mode in {evaluated} of {count(len(facts['is_training']), 'forward')}"
        look_at = "which mode the model is in when it is handed over, and who changes it"
        return Verdict("eval_mode", expected, measured, look_at)
    if any(facts["is_autocast"]):
        measured = "a forward under autocast"
        return Verdict(
            "autocast_used", "forwards in float32", measured, "the number format that the loss is computed in"
        )
    return None


def _judge_forwards(facts: Facts, case: RunCase) -> Verdict | None:
    seen, wanted = list(facts["forward_rows"]), rows_of_forwards(case)
    expected = f"{count(len(wanted), 'forward')}, of {_rows(wanted)} rows"
    measured = f"{count(len(seen), 'forward')}, of {_rows(seen)} rows" if seen else "no forward"
    if not seen:
        return Verdict(
            "no_forward", expected, measured, "what each pass of the loop hands to the model, and whether it is reached"
        )
    if seen == wanted:
        return None
    if facts["events"].count("update") > len(wanted) and seen == wanted * (len(seen) // len(wanted)):
        look_at = "how often the batches are walked through: one epoch is asked for"
        return Verdict("epoch_repeated", expected, measured, look_at)
    for rows, code, look_at in _known_forwards(case, wanted):
        if seen == rows and (code != "one_row_at_a_time" or facts["events"].count("update") == len(seen)):
            return Verdict(code, expected, measured, look_at)
    if len(seen) > len(wanted) and seen[0] < wanted[0] and facts["events"].count("update") == len(wanted):
        return Verdict("batch_in_parts", expected, measured, "how many rows the model is handed at once")
    if seen[0] != wanted[0]:
        return Verdict("other_batch_size", expected, measured, "how many rows make one update, in every run")
    return Verdict("other_forwards", expected, measured, "which rows the model is handed, and how often")


def _known_forwards(case: RunCase, wanted: list[int]) -> tuple[tuple[list[int], str, str], ...]:
    return (
        (wanted[:1], "only_first_batch", "where the loop ends: is `return` inside it?"),
        (wanted[:-1], "last_batch_dropped", "the last batch: it may have fewer rows, and is trained on too"),
        (
            [rows for rows in wanted for _ in range(2)],
            "two_forwards_each",
            "how often the model is called for one batch",
        ),
        ([case.pairs], "whole_dataset_at_once", "how many rows make one update"),
        ([1] * case.pairs, "one_row_at_a_time", "batch_size of the loader: it is 1 unless it is given"),
    )


def rows_of_forwards(case: RunCase) -> list[int]:
    """Return the rows of every forward of a right run."""
    return [len(case.rows_of(update)) for update in range(case.updates_per_epoch * case.epochs)]


def _judge_order(events: Sequence[str], case: RunCase) -> Verdict | None:
    updates = len(rows_of_forwards(case))
    expected = f"{updates} times forward, backward, update"
    places = places_of_updates(events)
    if not places:
        return None
    first = events[: events.index("update")]
    if "backward" in events and "backward" not in first:
        measured = "an update before the first backward"
        return Verdict("update_before_backward", expected, measured, "the order of backward() and optimizer.step()")
    if any(earlier == later for earlier, later in pairwise(places)):
        measured = f"{len(places)} updates, some without a batch of their own"
        return Verdict("updated_twice", expected, measured, "how often optimizer.step() is called for one batch")
    for size in range(2, updates):
        if places in ([*range(size, updates + 1, size)], sorted({*range(size, updates + 1, size), updates})):
            expected = f"{updates} updates, one for each batch"
            measured = f"{len(places)} updates, of {size} batches each"
            return Verdict("batches_accumulated", expected, measured, "one batch makes one update: who waits for more?")
    return None


def _rows(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows)) if len(rows) <= 8 else ", ".join(map(str, rows[:6])) + f" ... {rows[-1]}"
