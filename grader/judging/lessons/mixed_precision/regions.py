"""Judges where autocast was on, in which format, and with which model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.verdict import Verdict


def judge_regions(facts: Mapping[str, Any], forwards: int, rows: int, format_: str) -> Verdict | None:
    """Find what is wrong with the forwards and backwards of a run.

    Args:
        facts: What `record_training` and `record_precision` saw, and the "weight_formats" at the end.
        forwards: Forwards of a right run.
        rows: Rows of each of them.
        format_: The format of autocast in a right run.
    """
    return (
        _judge_model(facts)
        or _judge_plain(facts)
        or _judge_rows(facts, forwards, rows)
        or judge_format(facts, format_)
        or judge_backward(facts)
        or _judge_scaled(facts)
    )


def _judge_model(facts: Mapping[str, Any]) -> Verdict | None:
    if facts["weight_formats"] != ["float32"]:
        expected = "a model whose weights stay float32"
        measured = f"weights in {', '.join(facts['weight_formats'])}"
        look_at = "model.half() is not mixed precision: autocast casts inside its region, and leaves the weights"
        return Verdict("weights_converted", expected, measured, look_at)
    if not all(facts["is_training"]):
        look_at = "model.eval(): it switches dropout and the like off; training wants model.train()"
        return Verdict("eval_mode", "a model in train mode in every forward", "a forward in eval mode", look_at)
    return None


def _judge_plain(facts: Mapping[str, Any]) -> Verdict | None:
    if set(facts["autocast_formats"]) == {"float32"} and not facts["scaled_losses"]:
        expected = "forwards under autocast, and a scaled loss"
        look_at = "the two things that make it an fp16 update: torch.autocast and the scaler"
        return Verdict("plain_update", expected, "a float32 update: neither of the two is used", look_at)
    return None


def _judge_rows(facts: Mapping[str, Any], forwards: int, rows: int) -> Verdict | None:
    largest = max(facts["forward_rows"], default=0)
    expected = f"{forwards} forwards of {rows} rows"
    if not facts["forward_rows"]:
        return Verdict("no_forward", expected, "no forward of the model", "what is called on the inputs: the model")
    if largest > rows:
        look_at = "how many rows the model sees at once: one micro-batch"
        return Verdict("whole_group_in_one_forward", expected, f"a forward of {largest} rows", look_at)
    return None


def judge_format(facts: Mapping[str, Any], format_: str) -> Verdict | None:
    """Find forwards that ran in another format than `format_`."""
    formats = set(facts["autocast_formats"])
    expected = f"every forward under autocast, in {format_}"
    if formats <= {format_}:
        return None
    if formats == {"float32"}:
        look_at = "torch.autocast: its region has to hold the forward, and its device has to be the model's"
        return Verdict("forward_without_autocast", expected, "forwards in float32", look_at)
    if "float32" in formats:
        return Verdict(
            "autocast_in_part", expected, "some forwards in float32", "which forwards the autocast region holds"
        )
    look_at = "the dtype of torch.autocast: its default on a CPU is bfloat16"
    return Verdict("another_format", expected, f"forwards in {', '.join(sorted(formats))}", look_at)


def judge_backward(facts: Mapping[str, Any]) -> Verdict | None:
    """Find a backward that stood inside an autocast region."""
    if not any(facts["is_backward_in_autocast"]):
        return None
    look_at = "where the autocast region ends: backward runs in the formats of its forward, outside of the region"
    return Verdict("autocast_around_backward", "backward outside of autocast", "a backward inside of it", look_at)


def _judge_scaled(facts: Mapping[str, Any]) -> Verdict | None:
    backwards = facts["events"].count("backward")
    if facts["scalers"]:
        look_at = "the scaler that your function is given keeps the history: a new one forgets it"
        return Verdict("another_scaler", "the scaler that is handed over", "a scaler of its own", look_at)
    if facts["scaled_losses"] >= backwards:
        return None
    expected = f"{backwards} losses scaled, one for each backward"
    look_at = "scaler.scale(loss): the backward has to start from the scaled loss"
    return Verdict("loss_not_scaled", expected, f"{facts['scaled_losses']} losses scaled", look_at)
