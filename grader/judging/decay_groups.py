"""Judges the options that each parameter is updated with: the groups of an optimizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import nn

from grader.testbed.pair_runs import DecayFormsCase
from grader.verdict import UNRECOGNISED, Verdict

DEFAULT_DECAY = 0.01  # of torch.optim.AdamW


def is_decayed(name: str, parameter: nn.Parameter) -> bool:
    """Return whether a parameter is a matrix or an embedding: biases and normalisations have one dimension."""
    return parameter.dim() > 1


def options_of(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return the two groups of a right optimizer."""
    named = list(model.named_parameters())
    return [
        {"params": [p for name, p in named if is_decayed(name, p)], "weight_decay": weight_decay},
        {"params": [p for name, p in named if not is_decayed(name, p)], "weight_decay": 0.0},
    ]


def judge_options(case: DecayFormsCase, updates: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """Judge the weight decay and the learning rate of every parameter at every update."""
    if not updates:
        return Verdict(
            "no_update",
            f"{case.updates} updates",
            "none",
            "You never update the model. Call step() after each backward pass.",
        )
    named = list(case.make_model().named_parameters())
    wanted = [case.weight_decay if is_decayed(*item) else 0.0 for item in named]
    for options in updates:
        seen = options["decays"]
        if seen != wanted:
            return _explain_decays(case, named, seen, wanted)
    rates = [set(options["rates"]) for options in updates]
    expected = f"a constant learning rate of {case.learning_rate:g} for every parameter"
    if rates[0] != {case.learning_rate}:
        measured = f"learning rates {', '.join(f'{rate:.4g}' for rate in sorted(rates[0]))}"
        if case.learning_rate in rates[0]:
            return Verdict(
                "learning_rate_of_one_group",
                expected,
                measured,
                "You set the learning rate of one group only. lr is an option of each group.",
            )
        return Verdict(
            "other_learning_rate",
            expected,
            measured,
            "You train with another learning rate. Hand the argument `lr` to the optimizer.",
        )
    if any(later != rates[0] for later in rates):
        measured = f"{min(min(later) for later in rates):.3g} at the lowest"
        return Verdict(
            "learning_rate_changed",
            expected,
            measured,
            "You change the learning rate between updates. Look for a schedule.",
        )
    return None


def _explain_decays(
    case: DecayFormsCase,
    named: Sequence[tuple[str, nn.Parameter]],
    seen: Sequence[float | None],
    wanted: Sequence[float],
) -> Verdict:
    expected = f"weight_decay {case.weight_decay:g} for matrices and embeddings, 0 for biases and normalisations"
    wrong = [(name, value) for (name, _), value, right in zip(named, seen, wanted, strict=True) if value != right]
    name, value = wrong[0]
    measured = f"{name}: {'in no group' if value is None else f'{value:g}'}, and {len(wrong) - 1} more parameters"
    for code, decays, look_at in _known_decays(case.weight_decay, named):
        if all(own == other for own, other in zip(seen, decays, strict=True)):
            return Verdict(code, expected, measured, look_at)
    if any(value is None for value in seen):
        left = sum(value is None for value in seen)
        return Verdict(
            "parameters_left_out",
            expected,
            f"{left} parameters in no group",
            "You leave parameters out of all groups. Put the rest into the group without decay.",
        )
    sizes = {value for value in seen if value}
    if len(sizes) == 1 and [bool(value) for value in seen] == [bool(value) for value in wanted]:
        measured = f"weight_decay {sizes.pop()} for them"
        return Verdict(
            "another_decay",
            expected,
            measured,
            "You decay the right parameters by another number. Use the argument `weight_decay`.",
        )
    return Verdict(
        UNRECOGNISED,
        expected,
        measured,
        "Your groups differ, but not in a common way. Print the parameters and the weight_decay of each.",
    )


def _known_decays(decay: float, named: Sequence[tuple[str, nn.Parameter]]) -> Iterator[tuple[str, list[float], str]]:
    def for_each(condition: Any) -> list[float]:
        return [decay if condition(name, parameter) else 0.0 for name, parameter in named]

    look_at = "You decay nothing: the weight_decay of all groups is 0.0. Use the argument `weight_decay` for matrices."
    yield "decay_zero", [0.0] * len(named), look_at
    yield (
        "decay_everywhere",
        [decay] * len(named),
        "You decay every parameter. Make two groups: biases and normalisations do not decay.",
    )
    look_at = "You decay every parameter by 0.01, which is AdamW's default. Make two groups."
    yield "decay_default", [DEFAULT_DECAY] * len(named), look_at
    yield (
        "decay_swapped",
        for_each(lambda name, p: p.dim() < 2),
        "You decay biases and normalisations, and spare the rest. Exchange the decays of your groups.",
    )
    look_at = "You decay the weights of normalisations. Their names do not contain bias: look at the dimensions."
    yield "normalisations_decay", for_each(lambda name, p: "bias" not in name), look_at
    look_at = "You decay the biases of linear layers. They are not part of a normalisation: look at the dimensions."
    yield "biases_decay", for_each(lambda name, p: "LayerNorm" not in name), look_at
    look_at = "You spare the embeddings. They are matrices, and decay."
    yield "embeddings_spared", for_each(lambda name, p: p.dim() > 1 and "embeddings" not in name), look_at
    look_at = "You leave weight_decay out of the second group, so AdamW's default of 0.01 holds. Set it to 0.0."
    rest = [DEFAULT_DECAY if p.dim() < 2 else decay for _, p in named]
    yield "decay_of_rest_default", rest, look_at
