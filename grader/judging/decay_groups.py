"""Judges the options that each parameter is updated with: the groups of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torch import nn

from grader.judging.forms import Facts
from grader.judging.optimizer_forms import Cause, first_cause
from grader.testbed.pair_runs import DecayCase, OptimizerCase
from grader.verdict import UNRECOGNISED, Verdict

DEFAULT_DECAY = 0.01  # of torch.optim.AdamW
Named = Sequence[tuple[str, nn.Parameter]]


def make_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return the two groups of a right optimizer: biases and normalisations have one dimension, and do not decay."""
    matrices, others = ([p for p in model.parameters() if (p.dim() > 1) == is_matrix] for is_matrix in (True, False))
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]


def judge_groups(case: DecayCase, facts: Facts) -> Verdict | None:
    """Judge the weight decay and the learning rate of every parameter at every update."""
    named = list(case.make_model().named_parameters())
    wanted = [case.weight_decay if parameter.dim() > 1 else 0.0 for _, parameter in named]
    for update in facts["updates"]:
        if update["decays"] != wanted:
            return _explain_decays(case, named, update["decays"], wanted)
    return judge_rates(case, facts)


def judge_rates(case: OptimizerCase, facts: Facts) -> Verdict | None:
    """Judge that there are updates, of all parameters, with the learning rate that was asked for."""
    expected = f"a constant learning rate of {case.learning_rate:g} for every parameter"
    rates = [set(update["rates"]) for update in facts["updates"]]
    return first_cause(_rate_causes(case, rates), expected)


def _rate_causes(case: OptimizerCase, rates: Sequence[set[float | None]]) -> Iterable[Cause]:
    yield "no_update", not rates, "no update", "You never update the model. Call step() after each backward pass."
    look_at = "You leave parameters out of the optimizer. Each parameter belongs to one of its groups."
    yield "parameters_left_out", any(None in seen for seen in rates), "parameters in no group", look_at
    first = sorted(rate for rate in rates[0] if rate is not None)
    said = f"learning rates {', '.join(f'{rate:.4g}' for rate in first)}" if first else "no learning rate"
    look_at = "You set the learning rate of one group only. lr is an option of each group."
    yield "learning_rate_of_one_group", len(first) > 1 and case.learning_rate in first, said, look_at
    changed = f"from {said} to {max(filter(None, rates[-1]), default=0.0):.3g}"
    look_at = "You change the learning rate between updates. Look for a schedule or a warm-up."
    yield "learning_rate_changed", any(later != rates[0] for later in rates), changed, look_at
    look_at = "You train with another learning rate. Hand the argument `lr` to the optimizer."
    yield "other_learning_rate", first != [case.learning_rate], said, look_at


def _explain_decays(
    case: DecayCase, named: Named, seen: Sequence[float | None], wanted: Sequence[float]
) -> Verdict | None:
    expected = f"weight_decay {case.weight_decay:g} for matrices and embeddings, 0 for biases and normalisations"
    wrong = [(name, value) for (name, _), value, right in zip(named, seen, wanted, strict=True) if value != right]
    name, value = wrong[0]
    measured = f"{name}: {'in no group' if value is None else f'{value:g}'}, and {len(wrong) - 1} more parameters"
    return first_cause(_decay_causes(case.weight_decay, named, seen, wanted), expected, measured)


def _decay_causes(decay: float, named: Named, seen: Sequence[float | None], wanted: Sequence[float]) -> Iterable[Cause]:
    for code, condition, look_at in _KNOWN:
        yield code, list(seen) == [decay if condition(*item) else 0.0 for item in named], "", look_at
    look_at = "You decay every parameter by 0.01, which is AdamW's default. Make two groups."
    yield "decay_default", set(seen) == {DEFAULT_DECAY}, "", look_at
    look_at = "You leave weight_decay out of the second group, so AdamW's default of 0.01 holds. Set it to 0.0."
    is_default = list(seen) == [DEFAULT_DECAY if p.dim() < 2 else decay for _, p in named]
    yield "decay_of_rest_default", is_default, "", look_at
    left, sizes = sum(value is None for value in seen), {value for value in seen if value}
    look_at = "You leave parameters out of all groups. Put the rest into the group without decay."
    yield "parameters_left_out", left > 0, f"{left} parameters in no group", look_at
    is_other = len(sizes) == 1 and [bool(value) for value in seen] == [bool(value) for value in wanted]
    look_at = "You decay the right parameters by another number. Use the argument `weight_decay`."
    yield "another_decay", is_other, f"weight_decay {max(sizes, default=0.0)} for them", look_at
    look_at = "Your groups differ, but not in a common way. Print the parameters and the weight_decay of each."
    yield UNRECOGNISED, True, "", look_at


_KNOWN: Sequence[tuple[str, Callable[[str, nn.Parameter], bool], str]] = (
    (
        "decay_zero",
        lambda name, p: False,
        "You decay nothing: the weight_decay of all groups is 0.0. Use the argument `weight_decay` for matrices.",
    ),
    (
        "decay_everywhere",
        lambda name, p: True,
        "You decay every parameter. Make two groups: biases and normalisations do not decay.",
    ),
    (
        "decay_swapped",
        lambda name, p: p.dim() < 2,
        "You decay biases and normalisations, and spare the rest. Exchange the decays of your groups.",
    ),
    (
        "normalisations_decay",
        lambda name, p: "bias" not in name,
        "You decay the weights of normalisations. Their names do not contain bias: look at the dimensions.",
    ),
    (
        "biases_decay",
        lambda name, p: "LayerNorm" not in name,
        "You decay the biases of linear layers. They are not part of a normalisation: look at the dimensions.",
    ),
    (
        "listed_names_spared",
        lambda name, p: not any(listed in name for listed in ("bias", "LayerNorm.weight")),
        "You spare a list of names, and this model has a normalisation under another name. Look at the dimensions.",
    ),
    (
        "stacks_spared",
        lambda name, p: p.dim() == 2,
        "You decay parameters of exactly two dimensions. Those of three and more decay, too.",
    ),
    (
        "embeddings_spared",
        lambda name, p: p.dim() > 1 and "embeddings" not in name,
        "You spare the embeddings. They are matrices, and decay.",
    ),
)
