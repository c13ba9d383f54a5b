"""Judges where autocast was on, in which format, and with which model and scaler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.verdict import Verdict

NO_FORWARD = Verdict(
    "no_forward",
    "a call of model(inputs) for each micro-batch",
    "no call of the model",
    "You never call the model itself. Write model(inputs): model.forward(inputs) leaves out hooks, those of Accelerate "
    "included.",
)


def judge_regions(facts: Mapping[str, Any], forwards: int, rows: int, format_: str) -> Verdict | None:
    """Find what is wrong with the forwards and backwards of a run.

    Args:
        facts: The records of training and precision, and the "weight_formats" at the end.
        forwards: Forwards of a right run.
        rows: Rows of each of them.
        format_: The format of autocast in a right run.
    """
    return (
        judge_weights(facts)
        or judge_mode(facts)
        or _judge_plain(facts)
        or _judge_rows(facts, forwards, rows)
        or judge_format(facts, format_)
        or judge_backward(facts)
        or _judge_scaled(facts)
    )


def judge_weights(facts: Mapping[str, Any]) -> Verdict | None:
    """Find weights that are, or were in a forward, in another format than float32."""
    formats = sorted({*facts["layer_formats"], *facts.get("weight_formats", ())} - {"float32"})
    if not formats:
        return None
    look_at = "You convert the weights, which is not mixed precision. Leave them in float32: autocast casts for you."
    return Verdict("weights_converted", "weights that stay float32", f"weights in {', '.join(formats)}", look_at)


def judge_mode(facts: Mapping[str, Any]) -> Verdict | None:
    """Find forwards in eval mode."""
    if not all(facts["is_training"]):
        look_at = "You train in eval mode, which switches dropout off. Leave the model in train mode."
        return Verdict("eval_mode", "a model in train mode in every forward", "a forward in eval mode", look_at)
    return None


def _judge_plain(facts: Mapping[str, Any]) -> Verdict | None:
    if set(facts["autocast_formats"]) == {"float32"} and not facts["scaled_losses"]:
        expected = "forwards under autocast, and a scaled loss"
        look_at = "You train in float32. Run the forward under torch.autocast, and scale the loss."
        return Verdict("plain_update", expected, "a float32 update: neither of the two is used", look_at)
    return None


def _judge_rows(facts: Mapping[str, Any], forwards: int, rows: int) -> Verdict | None:
    largest = max(facts["forward_rows"], default=0)
    expected = f"{forwards} forwards of {rows} rows"
    if not facts["forward_rows"]:
        return NO_FORWARD
    if largest > rows:
        look_at = f"You pass {largest} rows to the model at once. Pass one micro-batch at a time."
        return Verdict("whole_group_in_one_forward", expected, f"a forward of {largest} rows", look_at)
    return None


def judge_format(facts: Mapping[str, Any], format_: str) -> Verdict | None:
    """Find forwards that ran in another format than `format_`."""
    formats = set(facts["autocast_formats"])
    expected = f"every forward under autocast, in {format_}"
    if formats <= {format_}:
        return None
    if formats == {"float32"}:
        look_at = (
            "You run the forward without autocast. Put it into a torch.autocast region for the device of the model."
        )
        return Verdict("forward_without_autocast", expected, "forwards in float32", look_at)
    if "float32" in formats:
        look_at = "You run some forwards outside the autocast region. Look at where it begins and ends."
        return Verdict("autocast_in_part", expected, "some forwards in float32", look_at)
    found = ", ".join(sorted(formats))
    look_at = f"You run autocast in {found}. Give it dtype=torch.{format_}: its default on a CPU is bfloat16."
    return Verdict("another_format", expected, f"forwards in {found}", look_at)


def judge_backward(facts: Mapping[str, Any]) -> Verdict | None:
    """Find a backward pass inside an autocast region."""
    if not any(facts["is_backward_in_autocast"]):
        return None
    look_at = "You call backward() inside the autocast region. End the region after the loss."
    return Verdict("autocast_around_backward", "backward outside of autocast", "a backward inside of it", look_at)


def _judge_scaled(facts: Mapping[str, Any]) -> Verdict | None:
    backwards = facts["events"].count("backward")
    if facts["scalers"]:
        look_at = "You make a scaler of your own, which forgets the history. Use the one that your function receives."
        return Verdict("another_scaler", "the scaler that is handed over", "a scaler of its own", look_at)
    if facts["scaled_losses"] >= backwards:
        return None
    expected = f"{backwards} losses scaled, one for each backward"
    look_at = "You start a backward pass from a loss without the scale. Call backward() on scaler.scale(loss)."
    return Verdict("loss_not_scaled", expected, f"{facts['scaled_losses']} losses scaled", look_at)
