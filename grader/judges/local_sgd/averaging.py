"""Verdict on one average: what is trained and what has fractions is the mean of the ranks, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from grader.cases.local_sgd import AveragingCase, averaging_cases
from grader.cases.local_sgd.averaging import vectors_of
from grader.judges.equivalence import compare
from grader.judges.local_sgd.evidence import RankEvidence, are_near, evidence_of, mean_of
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Part = list[Tensor]  # one vector for each rank
_NAMES = {
    "trained": "trained parameters",
    "frozen": "frozen parameters",
    "statistics": "running statistics",
    "counts": "counters and masks",
    "gradients": "gradients",
}
AVERAGED, LEFT_ALONE = ("trained", "statistics"), ("frozen", "counts", "gradients")


class _Setting(NamedTuple):
    """One setting: its vectors before and after, by what they are; each part has one vector for each rank."""

    case: AveragingCase
    before: dict[str, Part]
    after: dict[str, Part]
    ranks: Sequence[RankEvidence]


def judge_averaged_parameters(observation: Observation, seed: int) -> Verdict:
    """Compare the tensors of every rank with the means of the ranks."""
    cases = averaging_cases(seed)
    for number, case in enumerate(cases):
        ranks = evidence_of(observation, number, case.world_size)
        made = [vectors_of(case.make_model(rank)) for rank in range(case.world_size)]
        before = {name: [one[name] for one in made] for name in _NAMES}
        after = {name: [rank.tensors[name] for rank in ranks] for name in _NAMES}
        setting = _Setting(case, before, after, ranks)
        verdict = _judge_objects(setting) or _judge_left_alone(setting) or _judge_means(setting)
        if verdict:
            return verdict
    measured = f"{len(cases)} models on 2 and 3 ranks, each equal to the mean on every rank"
    return Verdict(PASSED, "the mean over the ranks on every rank", measured)


def _judge_objects(setting: _Setting) -> Verdict | None:
    for rank, evidence in enumerate(setting.ranks):
        facts, place = evidence.facts, f"on rank {rank} of {setting.case.world_size}"
        if facts["is_replaced"]:
            look_at = "a new parameter: an optimizer still holds the old one. Write into the tensors themselves"
            return Verdict("parameters_replaced", f"the same parameters, with other values, {place}", "others", look_at)
        if not facts["is_trainable"]:
            look_at = "requires_grad, and a graph that ends in a parameter: training goes on after an average"
            return Verdict("no_longer_trainable", f"parameters as trainable as before {place}", "not so", look_at)
        if facts["other_formats"]:
            names = ", ".join(map(str, facts["other_formats"]))
            look_at = "the number format: a counter is an integer, and stays as it is"
            return Verdict("buffer_of_another_format", f"buffers in their number formats {place}", names, look_at)
    return None


def _judge_left_alone(setting: _Setting) -> Verdict | None:
    for name in LEFT_ALONE:
        before, after = setting.before[name], setting.after[name]
        if all(torch.equal(one, two) for one, two in zip(before, after, strict=True)):
            continue
        expected = f"{_NAMES[name]} as they were on {setting.case.world_size} ranks"
        code, measured, look_at = _explain_changed(name, before, after)
        if name == "gradients" and not are_near(
            setting.after["trained"], [mean_of(setting.before["trained"])] * len(after)
        ):
            code, look_at = "gradients_for_parameters", "parameters are averaged here: their values, not their .grad"
        return Verdict(code, expected, measured, look_at)
    return None


def _explain_changed(name: str, before: Part, after: Part) -> tuple[str, str, str]:
    size, look_at = len(before), f"{_NAMES[name]}: what writes into them?"
    if after[0].shape != before[0].shape:
        return f"{name}_missing", "another number of them", look_at
    own = {"frozen": "frozen weights are the same everywhere: rounding is all that an average can do to them"}
    own["counts"] = "a counter or a mask is no mean of others: which buffers have fractions?"
    look_at = own.get(name, look_at)
    if are_near(after, [torch.stack(before).sum(dim=0)] * size):
        return f"{name}_summed", "their sum", look_at
    if name == "frozen" and are_near(after, before):
        return "frozen_rounded", "other last bits", look_at
    if all(bool((one - mean_of([b.double() for b in before])).abs().le(0.5).all()) for one in after):
        return f"{name}_averaged", "about their mean", look_at
    return f"{name}_changed", "other values", look_at


def _judge_means(setting: _Setting) -> Verdict | None:
    wrong = {}
    for name in AVERAGED:
        mean = mean_of(setting.before[name])
        if not are_near(setting.after[name], [mean] * setting.case.world_size):
            wrong[name] = _explain_mean(setting.before[name], setting.after[name])
    if not wrong:
        return None
    first = next(iter(wrong))
    expected = f"{_NAMES[first]}: the mean over {setting.case.world_size} ranks, on each of them"
    manner, measured, look_at = wrong[first]
    is_all = set(wrong) == {name for name in AVERAGED if setting.before[name][0].numel()}
    if is_all or first == "trained":
        waits = any(evidence.facts["unwaited"] for evidence in setting.ranks)
        if waits:
            return Verdict(
                "not_waited_for", expected, measured, "async_op=True returns a handle: who calls its wait()?"
            )
        if manner == "own" and any(evidence.placed for evidence in setting.ranks):
            look_at = "all_reduce writes into its tensor: is that the parameter itself, or a copy of it?"
            return Verdict("copy_averaged", expected, measured, look_at)
        if manner == "other" and first == "trained":
            return _explain_parts(setting, expected)
        return Verdict(f"{manner}_parameters", expected, measured, look_at)
    if manner == "own":
        look_at = "running statistics are no parameters, and drift too: where does a module keep them?"
        return Verdict("buffers_forgotten", expected, measured, look_at)
    return Verdict(f"{manner}_statistics", expected, measured, f"running statistics: {look_at}")


def _explain_mean(before: Part, after: Part) -> tuple[str, str, str]:
    """Explain what stands in place of a mean: a manner, what was measured, where to look."""
    size, mean = len(before), mean_of(before)
    if not all(bool(torch.isfinite(one).all()) for one in after):
        return "not_finite", "NaN or infinity", "a division by zero, or memory that was never written"
    if are_near(after, before):
        return "own", "each rank's own values", "what your function leaves in the tensors of a rank"
    for source, other in enumerate(before):
        if are_near(after, [other] * size):
            look_at = "a broadcast copies one rank's values: the mean over all ranks is asked for"
            return "one_rank", f"the values of rank {source} alone", look_at
    if are_near(after, [one / size for one in before]):
        return (
            "divided_alone",
            f"each rank's own values, divided by {size}",
            "which call adds those of the other ranks?",
        )
    factor = compare(after[0], mean).factor
    if not are_near(after, [factor * mean] * size):
        return "other", "other values", "what is added, and what it is divided by"
    measured = f"exactly {factor:.4g} times the mean"
    if abs(factor - size) < 1e-3:
        return "summed", measured, "an all-reduce adds: what makes a mean of the sum?"
    if abs(factor * size - 1) < 1e-3:
        return "divided_twice", measured, f"two divisions by {size}: one of them is enough"
    divisor = size / factor
    if 0.5 < divisor < 100 and abs(divisor - round(divisor)) < 1e-3:
        look_at = f"a division by {divisor:.0f}: how many ranks are there, and which call tells it?"
        return "wrong_number_of_ranks", measured, look_at
    return "scaled", measured, "which product or division is one too many"


def _explain_parts(setting: _Setting, expected: str) -> Verdict:
    """Explain trained parameters of which some are right and others not."""
    case, start, wrong, manners = setting.case, 0, [], set()
    for name, parameter in case.make_model(0).named_parameters():
        if not parameter.requires_grad:
            continue
        part = slice(start, start + parameter.numel())
        before, after = ([one[part] for one in some["trained"]] for some in (setting.before, setting.after))
        start = part.stop
        if not are_near(after, [mean_of(before)] * case.world_size):
            wrong.append(name)
            manners.add(_explain_mean(before, after)[0])
    names = ", ".join(wrong)
    if wrong == ["2.weight"] and case.is_tied:
        measured, look_at = "another value of the tied weight", "the tied weight: under how many names does it come?"
        return Verdict("tied_weight_twice", expected, measured, look_at)
    if manners == {"own"} and all(name.endswith("bias") or name.startswith("3.") for name in wrong):
        measured, look_at = (
            f"each rank's own {names}",
            "biases and scales are trained too: which parameters are left out?",
        )
        return Verdict("vectors_left_out", expected, measured, look_at)
    if manners == {"own"}:
        return Verdict(
            "some_parameters_own", expected, f"each rank's own {names}", f"which parameters are left out: {names}"
        )
    return Verdict("other_parameters", expected, f"other values of {names}", "what is added, and what it is divided by")
