"""Verdict on a function that counts the state of an optimizer."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.adamw.count_ways import KNOWN, Size, leaves_of, right
from grader.lessons.adamw.counted import CountCase, count_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0
COPIED = "a tensor knows its size: which line makes a new one of it?"


def judge_state_count(observation: Observation, seed: int) -> Verdict:
    """Compare elements and bytes of every state, and tell copies."""
    cases = count_cases(seed)
    if any(observation.facts["is_emptied"]):
        look_at = "a line that removes entries: clear(), pop(), del. An optimizer without its state starts anew"
        return Verdict("state_emptied", "the state as it was", "entries that are gone after the count", look_at)
    for case, is_changed in zip(cases, observation.facts["is_changed"], strict=True):
        if is_changed:
            look_at = "a line that changes the optimizer: counting only reads, and step() does more"
            expected = f"the state of {_NAMES[case.kind]} as it was"
            return Verdict("state_changed", expected, "another state after the count", look_at)
    answers = [(float(elements), float(size)) for elements, size in observation.facts["counted"]]
    for case, answer in zip(cases, answers, strict=True):
        wanted = right(leaves_of(case))
        if answer != wanted:
            code, look_at = _recognise(cases, answers, max(observation.facts["copied_bytes"]))
            return Verdict(code, f"{_say(wanted)} for {_NAMES[case.kind]}", _say(answer), look_at)
    for case, copied_bytes in zip(cases, observation.facts["copied_bytes"], strict=True):
        if copied_bytes > 0:
            measured = f"{format_bytes(copied_bytes)} allocated while the function counts"
            expected = f"nothing allocated for {_NAMES[case.kind]}"
            if case.kind == "packed":  # and not for AdamW, which comes first
                look_at = "a tensor that is stored column by column: contiguous() or reshape() makes a copy of it"
                return Verdict("strided_state_copied", expected, measured, look_at)
            return Verdict("state_copied", expected, measured, COPIED)
    names = sorted({str(name) for moves in observation.facts["moves"] for name in moves})
    if names:
        look_at = "a tensor knows its size where it is: on a GPU such a call copies it"
        return Verdict("state_moved", "entries that stay where they are", f"a call of .{names[0]}()", look_at)
    measured = f"{len(cases)} states, nothing copied; AdamW {_say(answers[0])}"
    return Verdict(PASSED, f"elements and bytes of {len(cases)} states", measured)


_NAMES = {
    "adamw": "AdamW",
    "packed": "an optimizer with shared and packed state",
    "fresh": "an optimizer before its first step",
    "sgd": "SGD without momentum",
}


def _recognise(cases: Sequence[CountCase], answers: Sequence[Size], copied_bytes: int) -> tuple[str, str]:
    states = [leaves_of(case) for case in cases]
    for code, count, look_at in KNOWN:
        if all(_is_near(answer, count(state)) for answer, state in zip(answers, states, strict=True)):
            return code, look_at
    visible = [right(leaves_of(case)) for case in count_cases(VISIBLE_SEED)]
    if all(_is_near(answer, size) for answer, size in zip(answers, visible, strict=True)):
        return "visible_case_hard_coded", "numbers that are right for other optimizers: what do they depend on?"
    if len(set(answers)) == 1:
        return "same_for_all", "the answer is the same for every optimizer: what does it read?"
    if copied_bytes > 0:
        return (
            "copies_counted",
            "a copy has a storage of its own: count the tensors that are there",
        )
    return UNRECOGNISED, "one entry of the state at a time: is it a tensor, and has its storage been counted?"


def _is_near(answer: Size, value: Size) -> bool:
    return all(abs(one - other) <= 1e-6 * abs(other) for one, other in zip(answer, value, strict=True))


def _say(size: Size) -> str:
    return f"{size[0]:,.10g} elements and {size[1]:,.10g} bytes"
