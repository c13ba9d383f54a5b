"""Verdicts on what a training job does with its batches, and on what it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.lessons.adam_8bit.job import JobCase
from grader.testbed.word_sorter import batch_number
from grader.units import format_bytes
from grader.verdict import Verdict


def judge_calls(case: JobCase, facts: Mapping[str, Any], calls: int = 1) -> Verdict | None:
    """Judge which batches the model was called with, in which order, in which format, and what hooks are left.

    Args:
        case: The job.
        facts: What a job record noted.
        calls: How often the job was done.
    """
    updates = calls * case.updates
    expected = f"one forward for each of {updates} batches, and a model without hooks at the end"
    verdict = _judge_batches(case, facts, calls, expected)
    if verdict:
        return verdict
    if list(facts["formats"]) != ["float32"]:
        look_at = "a conversion of the model: its parameters stay in their format while it is trained, too"
        names = ", ".join(str(name) for name in facts["formats"])
        return Verdict("converted_on_the_way", "parameters in float32 at each forward", names, look_at)
    if facts["forwards_waiting"] > 1:
        measured = f"{facts['forwards_waiting']} forwards before a backward"
        return Verdict("graphs_kept", expected, measured, "where backward() is called: after each forward")
    if facts["hooks_left"]:
        look_at = "hooks that are still there when your call ends: each has a handle with remove()"
        return Verdict("hooks_left", expected, f"{facts['hooks_left']} hooks left on parameters", look_at)
    return None


def _judge_batches(case: JobCase, facts: Mapping[str, Any], calls: int, expected: str) -> Verdict | None:
    wanted = calls * [batch_number(words) for words, _ in case.make_batches()]
    seen, forwards = list(facts["batches_seen"]), facts["forwards"]
    if not forwards:
        look_at = "the model that you are handed: is it called itself, or a copy of it?"
        return Verdict("model_not_called", expected, "no forward of this model", look_at)
    if not set(seen) <= set(wanted):
        look_at = "what a forward sees: one whole batch, neither a part of it nor two of them"
        return Verdict("other_batches", expected, f"{forwards} forwards, some of them with other texts", look_at)
    if forwards != len(wanted):
        code = "epoch_repeated" if forwards > len(wanted) else "batches_left_out"
        return Verdict(code, expected, f"{forwards} forwards", "how often the batches are walked through: once")
    if seen != wanted:
        return Verdict("batches_out_of_order", expected, "the batches in another order", "the order of `batches`")
    return None


def judge_left(facts: Mapping[str, Any]) -> Verdict | None:
    """Judge that neither gradients nor optimizers are left when a job ends."""
    if facts["state_left_bytes"]:
        look_at = "what outlives your call: a name outside of it that holds your optimizers"
        measured = f"{format_bytes(int(facts['state_left_bytes']))} of state that are still there"
        return Verdict("state_left", "nothing held when the call ends", measured, look_at)
    if not facts["gradients_left"]:
        return None
    expected, measured = "no gradient left when the call ends", f"{facts['gradients_left']} gradients left"
    if facts["is_left_zero"]:
        look_at = "zeros take as much memory as numbers: a gradient that is None takes none"
        return Verdict("zeros_left", expected, measured, look_at)
    look_at = "gradients that nobody uses: does your step come before the gradient is written?"
    return Verdict("gradients_left", expected, measured, look_at)


def judge_updates(case: JobCase, facts: Mapping[str, Any]) -> Verdict | None:
    """Judge that no optimizer updated a parameter more often than there are batches."""
    most = int(facts["most_updates"])
    if most <= case.updates:
        return None
    expected = f"one update of each parameter for each of {case.updates} batches"
    return Verdict("updated_twice", expected, f"{most} updates", "how often step() is called for one gradient")
