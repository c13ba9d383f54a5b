"""Judges what a training job does with its batches, and what it leaves behind."""

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
        look_at = "You convert the model on the way. Its parameters stay in their format all the time."
        names = ", ".join(str(name) for name in facts["formats"])
        return Verdict("converted_on_the_way", "parameters in float32 at each forward", names, look_at)
    if facts["forwards_waiting"] > 1:
        measured = f"{facts['forwards_waiting']} forwards before a backward"
        return Verdict(
            "graphs_kept", expected, measured, "You keep several graphs. Call backward() after each forward."
        )
    if facts["hooks_left"]:
        look_at = "You leave hooks on the parameters. Each has a handle: call its remove()."
        return Verdict("hooks_left", expected, f"{facts['hooks_left']} hooks left on parameters", look_at)
    return None


def _judge_batches(case: JobCase, facts: Mapping[str, Any], calls: int, expected: str) -> Verdict | None:
    wanted = calls * [batch_number(words) for words, _ in case.make_batches()]
    seen, forwards = list(facts["batches_seen"]), facts["forwards"]
    if not forwards:
        look_at = "You never call this model. Look for a copy that is trained in its place."
        return Verdict("model_not_called", expected, "no forward of this model", look_at)
    if not set(seen) <= set(wanted):
        look_at = "You change the batches. Each forward sees one whole batch."
        return Verdict("other_batches", expected, f"{forwards} forwards, some of them with other texts", look_at)
    if forwards != len(wanted):
        is_more = forwards > len(wanted)
        code, way = ("epoch_repeated", "too many") if is_more else ("batches_left_out", "too few")
        return Verdict(
            code, expected, f"{forwards} forwards", f"You go through {way} batches. Go through all of them once."
        )
    if seen != wanted:
        return Verdict(
            "batches_out_of_order",
            expected,
            "the batches in another order",
            "You change their order. Keep that of `batches`.",
        )
    return None


def judge_left(facts: Mapping[str, Any]) -> Verdict | None:
    """Judge that neither gradients nor optimizers are left when a job ends."""
    if facts["state_left_bytes"]:
        look_at = "You keep your optimizers after the call. Look for a name outside of it that holds them."
        measured = f"{format_bytes(int(facts['state_left_bytes']))} of state that are still there"
        return Verdict("state_left", "nothing held when the call ends", measured, look_at)
    if not facts["gradients_left"]:
        return None
    expected, measured = "no gradient left when the call ends", f"{facts['gradients_left']} gradients left"
    if facts["is_left_zero"]:
        look_at = "You leave gradients of zeros, which take as much memory as any numbers. Set .grad to None."
        return Verdict("zeros_left", expected, measured, look_at)
    look_at = "You leave gradients that nothing has used. Look at whether step() comes before they are written."
    return Verdict("gradients_left", expected, measured, look_at)


def judge_updates(case: JobCase, facts: Mapping[str, Any]) -> Verdict | None:
    """Judge that no optimizer updated a parameter more often than there are batches."""
    most = int(facts["most_updates"])
    if most <= case.updates:
        return None
    expected = f"one update of each parameter for each of {case.updates} batches"
    return Verdict("updated_twice", expected, f"{most} updates", "You call step() more than once for one gradient.")
