"""Judges a classifier that was fitted within a budget: how it answers, then what the run held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.budget import claimed_peak_bytes
from grader.judging.kept import keep_cases
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.mixture_of_experts.job import FLOAT32_BYTES, TightJob, tight_jobs
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

# Of the divergence of the base as it is read. In both jobs at 12 seeds, adapters on the 4-bit base end between 0.04 and
# 0.11, on the float32 base between 0.03 and 0.09. No training leaves 0.97 or more; labels end above 2, or above 0.6
# with a low rate; adapters without the base end above 0.37.
DIVERGENCE_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class JobRun:
    """What one run did and held.

    Attributes:
        case: The job.
        facts: What was recorded.
        share: The divergence from the teacher, over that of the base.
        surprise: Entropy of the answers, over that of the teacher's.
        held_bytes: The peak of a run of few batches, or what the classifier of the whole run holds if that is more.
    """

    case: TightJob
    facts: Mapping[str, Any]
    share: float
    surprise: float
    held_bytes: int

    @property
    def numbers(self) -> int:
        """Numbers of the base's matrices."""
        return self.case.depth * self.case.width**2


QUALITY = Table[JobRun](
    Misconception(
        "nothing_trained",
        "You make no update with an optimizer. Loading the base does not change how it answers.",
        shown_by=lambda run: not run.facts["updates"],
    ),
    Misconception(
        "labels_alone",
        "You never ask the teacher. A label names one class; the teacher says how likely all of them are, and that is "
        "what your classifier is compared with.",
        shown_by=lambda run: not run.facts["asked"],
    ),
    Misconception(
        "gradients_of_zeros",
        "You train numbers whose gradients are all 0. Where both factors start at zero, neither moves.",
        shown_by=lambda run: not run.facts["has_gradient"],
    ),
    Misconception(
        "best_class_alone",
        "You train on the teacher's best class, so your classifier is far surer than the teacher. Use its whole "
        "distribution.",
        shown_by=lambda run: run.surprise < 0.88,
    ),
    Misconception(
        "base_left_out",
        "You leave the base's matrices out, and what is trained has to learn from {case.updates} batches what they "
        "know. Keep them in each layer, frozen and in fewer bits.",
        shown_by=lambda run: run.facts["base_bytes"] < 0.4 * run.numbers and run.facts["trained"] < run.numbers,
    ),
)
BUDGET = Table[JobRun](
    Misconception(
        "all_weights_trained",
        "You train all matrices: each number needs a gradient and two moments, 16 bytes with itself. Freeze them, and "
        "train something small.",
        shown_by=lambda run: run.facts["trained"] >= run.numbers,
    ),
    Misconception(
        "base_in_float32",
        "You hold the frozen matrices in float32. They are read and never updated: store them in fewer bits.",
        shown_by=lambda run: (
            2 * run.facts["left_alive"] >= run.case.depth or run.facts["base_bytes"] > 3.5 * run.numbers
        ),
    ),
    Misconception(
        "matrices_read_at_once",
        "You read all matrices before you store the first one in fewer bits. Convert each as it is read.",
        shown_by=lambda run: 2 * run.facts["most_alive"] >= run.case.depth,
    ),
    Misconception(
        "base_in_16_bits",
        "You store the frozen matrices in 16 bits, and they alone take nearly the whole budget. Use fewer.",
        shown_by=lambda run: run.facts["base_bytes"] > 1.8 * run.numbers,
    ),
    Misconception(
        "teacher_graph_kept",
        "You let the teacher build a graph, which holds the outputs of all its experts. It only answers.",
        shown_by=lambda run: run.facts["is_graph_kept"],
    ),
    Misconception(
        "factors_too_large",
        "You train {facts[trained]:,} numbers, whose gradients and moments take much of the budget. Lower the rank.",
        shown_by=lambda run: 32 * run.facts["trained"] > run.case.budget_bytes,
    ),
    Misconception(
        "decoded_matrices_kept",
        "You decode each matrix before a product, and the graph keeps all of them for its backward pass. Use a layer "
        "that keeps the codes, or compute the layer again in the backward pass (lesson 03).",
        shown_by=lambda run: run.held_bytes > 3.5 * run.numbers and run.facts["updates"] > 0,
    ),
)


def judge_tight_job(observation: Observation, seed: int) -> Verdict:
    """Judge the answers of both classifiers, then the bytes of both runs."""
    found = zip(observation.facts["settings"], observation.facts["claims"], strict=True)
    pairs = list(zip(tight_jobs(seed), found, strict=True))
    runs = [_run(case, *given, observation.tensors[str(index)]) for index, (case, given) in enumerate(pairs)]
    for judge in (_judge_answers, _judge_bytes):
        for run in runs:
            if verdict := judge(run):
                return verdict
    parts = [f"{run.share:.0%} of the divergence with {format_bytes(run.held_bytes)}" for run in runs]
    return Verdict(PASSED, "answers and bytes within their bounds", "; ".join(parts))


def _run(case: TightJob, facts: Mapping[str, Any], claim: Mapping[str, Any], answers: Tensor) -> JobRun:
    claimed_peak_bytes(claim, distinct_storage_bytes(case.make_teacher().parameters()))
    teacher, base = reference_answers(case)
    student = answers.log_softmax(dim=1)
    share, surprise = _divergence(teacher, student) / _divergence(teacher, base), _entropy(student) / _entropy(teacher)
    left = int(facts["base_bytes"]) + FLOAT32_BYTES * int(facts["trained"])
    return JobRun(case, facts, share, surprise, max(int(claim["above_entry_bytes"]), left))


def _judge_answers(run: JobRun) -> Verdict | None:
    if run.facts["asked_later"]:
        look_at = "You return something that asks the teacher. The classifier has to answer alone."
        measured = f"{run.facts['asked_later']} calls of the teacher"
        return Verdict("teacher_asked_later", "answers without the teacher", measured, look_at)
    if run.share <= DIVERGENCE_SHARE:
        return None
    return QUALITY.explain(
        run,
        expected=f"at most {DIVERGENCE_SHARE} times the divergence of the base as it is read",
        measured=f"{run.share:.2f} times, after {run.facts['updates']} updates",
        otherwise="You end too far from the teacher. Look at the learning rate, and at what the loss compares.",
    )


def _judge_bytes(run: JobRun) -> Verdict | None:
    if run.held_bytes <= run.case.budget_bytes:
        return None
    return BUDGET.explain(
        run,
        expected=f"at most {format_bytes(run.case.budget_bytes)} in addition to the teacher and the batches",
        measured=f"{format_bytes(run.held_bytes)}: {run.held_bytes / run.numbers:.2f} for each number of the base",
        otherwise="You hold too much. Look for copies of matrices, and for what variables still name.",
    )


def _divergence(teacher: Tensor, student: Tensor) -> float:
    return float((teacher.exp() * (teacher - student)).sum(dim=1).mean())


def _entropy(logarithms: Tensor) -> float:
    return float(-(logarithms.exp() * logarithms).sum(dim=1).mean())


@keep_cases
def reference_answers(case: TightJob) -> tuple[Tensor, Tensor]:
    """Return the logarithms of the probabilities that the teacher and the base give for the held-out rows."""
    base = case.assemble([_Product(weight) for weight in case.read_weights()])
    with torch.no_grad():
        answers = [model(case.held_out()).log_softmax(dim=1).float().cpu() for model in (case.make_teacher(), base)]
    return answers[0], answers[1]


class _Product(nn.Module):
    def __init__(self, weight: Tensor):
        super().__init__()
        self.weight = weight

    def forward(self, rows: Tensor) -> Tensor:
        return rows @ self.weight.T
