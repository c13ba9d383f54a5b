"""Verdict on one average: what is trained and what has fractions is the mean of the ranks, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from grader.judging.lessons.local_sgd.evidence import RankEvidence, are_near, evidence_of, mean_of
from grader.judging.lessons.local_sgd.means import Part, explain_buffers, explain_mean, explain_parameters
from grader.lessons.local_sgd.averaging import AveragingCase, averaging_cases, vectors_of
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

_NAMES = {
    "trained": "trained parameters",
    "frozen": "frozen parameters",
    "statistics": "floating-point buffers",
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
        if name == "gradients" and not after[0].numel():
            look_at = "zero_grad(), or a grad that is set to None: an average of values has no need of it"
            return "gradients_missing", "no gradients any more", look_at
        return f"{name}_missing", "another number of them", look_at
    own = {"frozen": "frozen weights are the same everywhere: rounding is all that an average can do to them"}
    own["counts"] = "a counter or a mask is no mean of others: which buffers are floating-point?"
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
            wrong[name] = explain_mean(setting.before[name], setting.after[name])
    if not wrong:
        return None
    first = next(iter(wrong))
    expected = f"{_NAMES[first]}: the mean over {setting.case.world_size} ranks, on each of them"
    manner, measured, look_at = wrong[first]
    if first == "trained":
        return _explain_trained(setting, expected, wrong[first])
    if manner == "own":
        look_at = "running statistics are no parameters, and drift too: where does a module keep them?"
        return Verdict("buffers_forgotten", expected, measured, look_at)
    if manner == "other":
        return explain_buffers(setting.case, setting.before["statistics"], setting.after["statistics"], expected)
    return Verdict(f"{manner}_statistics", expected, measured, f"floating-point buffers: {look_at}")


def _explain_trained(setting: _Setting, expected: str, found: tuple[str, str, str]) -> Verdict:
    """Explain trained parameters that are no means, by what `explain_mean` found."""
    manner, measured, look_at = found
    if any(evidence.facts["unwaited"] for evidence in setting.ranks):
        return Verdict("not_waited_for", expected, measured, "async_op=True returns a handle: who calls its wait()?")
    if manner == "own" and any(evidence.facts["returns"] for evidence in setting.ranks):
        look_at = "your function returns something: an average in place writes into the model's own tensors"
        return Verdict("means_returned", expected, measured, look_at)
    if manner == "own" and any(evidence.placed for evidence in setting.ranks):
        look_at = "all_reduce writes into its tensor: is that the parameter itself, or a copy of it?"
        return Verdict("copy_averaged", expected, measured, look_at)
    if manner == "other":
        return explain_parameters(setting.case, setting.before["trained"], setting.after["trained"], expected)
    return Verdict(f"{manner}_parameters", expected, measured, look_at)
