"""Judges a job on several ranks: the weights of AdamW on all rows, within a budget that a rank alone would exceed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.lessons.offloading.job import EPSILON, LEARNING_RATE, UPDATES, JobCase, job_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

OTHERWISE = {
    "weights": "You end in other weights than one AdamW on the rows of all ranks. Follow one gradient from its rank to "
    "the step that uses it.",
    "peak": "You exceed the budget. List what a rank holds at its peak, in multiples of the weights' bytes.",
}


@dataclass(frozen=True)
class JobRun:
    """One rank of one setting.

    Attributes:
        case: The setting.
        rank: Number of the rank.
        weights: Its weights in the end.
        first: The weights of rank 0 in the end.
        collectives: How many collectives it took part in.
        state_bytes: The most optimizer state that it held after a step.
        peak_bytes: Its peak.
        saved_bytes: What forward had left for backward, if its peak is in a backward; else 0.
    """

    case: JobCase
    rank: int
    weights: Tensor
    first: Tensor
    collectives: int
    state_bytes: int
    peak_bytes: int
    saved_bytes: int

    @property
    def distance(self) -> float:
        """How far its weights are from those of rank 0, relative to their norm."""
        return float((self.weights - self.first).norm() / self.first.norm())

    @property
    def state(self) -> str:
        """The state as text."""
        return format_bytes(self.state_bytes)

    @property
    def share(self) -> str:
        """An even share of the state as text."""
        return format_bytes(self.case.share_bytes)

    @property
    def rest_bytes(self) -> int:
        """What it held at its peak in addition to weights, gradients, state and activations."""
        return self.peak_bytes - 2 * self.case.weight_bytes - self.state_bytes - self.saved_bytes

    @property
    def saved(self) -> str:
        """What forward had left for backward, as text."""
        return format_bytes(self.saved_bytes)


def judge_shared_job(observation: Observation, seed: int) -> Verdict:
    """Judge the weights of every rank, then its peak."""
    runs = [_runs(observation, number, case) for number, case in enumerate(job_cases(seed))]
    for of_case in runs:
        for run in of_case:
            verdict = RANKS.judge(run)
            if verdict:
                return verdict
    answer = WEIGHTS.answer(seed, [of_case[0].weights for of_case in runs])
    if not answer.is_right:
        error = compare(answer.value, answer.truth).relative_error
        expected = f"the weights of AdamW after {UPDATES} updates on the rows of all {answer.case.world_size} ranks"
        measured = f"off by {error:.1e} of their norm, on every rank"
        return WEIGHTS.explain(answer, expected=expected, measured=measured, otherwise=OTHERWISE["weights"])
    for of_case in runs:
        highest = max(of_case, key=lambda run: run.peak_bytes)
        if highest.peak_bytes > highest.case.budget_bytes:
            expected = f"at most {format_bytes(highest.case.budget_bytes)} on each of {highest.case.world_size} ranks"
            measured = f"{format_bytes(highest.peak_bytes)} on rank {highest.rank}"
            return PEAK.explain(highest, expected=expected, measured=measured, otherwise=OTHERWISE["peak"])
    shown = ", ".join(
        f"{format_bytes(max(run.peak_bytes for run in of_case))} of {format_bytes(of_case[0].case.budget_bytes)}"
        for of_case in runs
    )
    return Verdict(PASSED, "AdamW's weights within the budget", f"AdamW's weights, at most {shown}")


def _runs(observation: Observation, number: int, case: JobCase) -> list[JobRun]:
    weights = [observation.tensors[f"{number}.{rank}.weights"] for rank in range(case.world_size)]
    reports = zip(weights, observation.facts["settings"][number], strict=True)
    names = ("collectives", "state_bytes", "peak_bytes", "saved_bytes")
    return [
        JobRun(case, rank, own, weights[0], **{name: int(facts[name]) for name in names})
        for rank, (own, facts) in enumerate(reports)
    ]


def trained_weights(case: JobCase) -> Tensor:
    """Return the weights after all updates of one AdamW on the rows of all ranks, as one vector."""
    model = case.make_model()
    batches = [case.make_batches(rank) for rank in range(case.world_size)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, eps=EPSILON)
    with torch.enable_grad():
        for update in range(UPDATES):
            inputs, targets = map(torch.cat, zip(*(own[update] for own in batches), strict=True))
            optimizer.zero_grad()
            loss = F.mse_loss(model(inputs), targets)
            torch.autograd.backward(loss)
            optimizer.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def _run(trained_weights: Callable[[JobCase], Tensor], case: JobCase) -> Tensor:
    return trained_weights(case)


def _is_near(answer: Tensor, value: Tensor) -> bool:
    return answer.shape == value.shape and compare(answer, value).is_equal


RANKS = Table[JobRun](
    Misconception(
        "ranks_never_meet",
        "You make no collective, so each rank trains on its own rows alone. Average the gradients of all ranks.",
        shown_by=lambda run: not run.collectives,
        expected="gradients that the {case.world_size} ranks average",
        measured="no collective on rank {rank}",
    ),
    Misconception(
        "ranks_differ",
        "You leave other weights on one rank than on another. Whoever updates a weight has to send it to all ranks.",
        shown_by=lambda run: not run.distance <= RELATIVE_TOLERANCE,
        expected="the same weights on {case.world_size} ranks",
        measured="on rank {rank} they are {distance:.1e} of their norm away from those of rank 0",
    ),
)
LOSS, RATES = "loss = F.mse_loss(model(inputs), targets)", "lr=LEARNING_RATE, eps=EPSILON"
WEIGHTS = ReferenceTable(
    trained_weights,
    Misconception(
        "gradients_summed",
        "You step with the sum of the ranks' gradients. Divide it by the number of ranks.",
        {LOSS: f"{LOSS} * case.world_size"},
    ),
    Misconception(
        "divided_twice",
        "You divide the gradient by the number of ranks twice. Look for an average that is divided again.",
        {LOSS: f"{LOSS} / case.world_size"},
    ),
    Misconception(
        "gradients_kept",
        "You add the gradients of one batch to those of the batch before. Clear them after each update.",
        {"            optimizer.zero_grad()\n": ""},
    ),
    Misconception(
        "moments_begin_again",
        "You make a new AdamW for each batch, so its moments begin at zero. Make it once.",
        {
            "            optimizer.step()": "            optimizer.step(); "
            f"optimizer = torch.optim.AdamW(model.parameters(), {RATES})"
        },
    ),
    Misconception(
        "epsilon_left_out",
        "You leave epsilon at AdamW's default. Pass eps=0.1.",
        {"eps=EPSILON": "eps=1e-8"},
    ),
    Misconception(
        "no_weight_decay",
        "You step without AdamW's default weight decay. Use torch.optim.AdamW, not Adam.",
        {"eps=EPSILON": "eps=EPSILON, weight_decay=0.0"},
    ),
    Misconception(
        "no_update",
        "You leave the weights as they were. Look at which tensors your optimizer steps.",
        {"            optimizer.step()": "            pass"},
    ),
    run=_run,
    cases=job_cases,
    is_near=_is_near,
)
PEAK = Table[JobRun](
    Misconception(
        "whole_state",
        "You keep the moments of all weights on each rank: {state}, twice the weights' bytes. Keep a share of them on "
        "each rank, or keep them in far memory.",
        shown_by=lambda run: run.state_bytes > 1.9 * run.case.weight_bytes,
    ),
    Misconception(
        "activations_kept",
        "You hold what many blocks save for backward at one moment: {saved}. Recompute it block by block, send it "
        "away, or take fewer rows at once.",
        shown_by=lambda run: run.saved_bytes > 0.8 * run.case.weight_bytes,
    ),
    Misconception(
        "uneven_shares",
        "You give this rank {state} of state, and an even share has {share}. Share out by bytes: matrices and biases "
        "are not alike.",
        shown_by=lambda run: run.state_bytes > 1.2 * run.case.share_bytes,
    ),
    Misconception(
        "whole_copies",
        "You hold a second copy of all gradients or of all weights: a flat vector, a bucket or a list. Send and update "
        "them a block at a time.",
        shown_by=lambda run: run.rest_bytes > 0.8 * run.case.weight_bytes,
    ),
)
