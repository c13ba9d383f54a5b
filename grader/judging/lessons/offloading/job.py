"""Judges a job on several ranks: the weights of AdamW on all rows, within a budget that a rank alone would exceed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.kept import keep_cases
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.lessons.offloading.job import EPSILON, LEARNING_RATE, UPDATES, JobCase, job_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

ROUNDED = 0.01  # of the movement; bfloat16 rounds to 1 in 256
OTHERWISE = {
    "weights": "You make other updates than one AdamW on all rows: your weights move {factor:.3g} times as far, and "
    "the best factor leaves {residual:.1%}. Compare one update by hand: whose rows are in the gradient, its scale, and "
    "the number, arguments and state of the step.",
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
        collectives: Names of the collectives that it took part in.
        state_bytes: The most optimizer state that it held after a step.
        peak_bytes: Its peak.
        saved_bytes: What forward had left for backward, if its peak is in a backward; else 0.
    """

    case: JobCase
    rank: int
    weights: Tensor
    first: Tensor
    collectives: list[str]
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


@dataclass(frozen=True)
class Movement:
    """How the weights of rank 0 moved in one setting.

    Attributes:
        run: The rank's run.
        seen: What was added to its weights.
        wanted: What one AdamW on all rows adds.
    """

    run: JobRun
    seen: Tensor
    wanted: Tensor

    @property
    def error(self) -> float:
        """The difference relative to the movement."""
        return compare(self.seen, self.wanted).relative_error

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The movement of each parameter."""
        sizes = [parameter.numel() for parameter in self.run.case.make_model().parameters()]
        return tuple(torch.split(self.seen, sizes))

    @property
    def still(self) -> int:
        """How many parameters did not move."""
        return sum(not bool(tensor.any()) for tensor in self.tensors)

    @property
    def factor(self) -> float:
        """How far the other parameters moved, relative to what they should."""
        return compare(self.seen, self.wanted * (self.seen != 0)).factor if self.seen.any() else 0.0

    @property
    def count(self) -> int:
        """How many parameters there are."""
        return len(self.tensors)


def judge_shared_job(observation: Observation, seed: int) -> Verdict:
    """Judge the weights of every rank, then its peak."""
    runs = [_runs(observation, number, case) for number, case in enumerate(job_cases(seed))]
    for of_case in runs:
        for run in of_case:
            verdict = RANKS.judge(run)
            if verdict:
                return verdict
    answer = WEIGHTS.answer(seed, [of_case[0].weights - _start(of_case[0].case) for of_case in runs])
    if not answer.is_right:
        movement = Movement(runs[answer.wrong[0]][0], answer.value, answer.truth)
        expected = f"the weights of AdamW after {UPDATES} updates on the rows of all {answer.case.world_size} ranks"
        measured = f"off by {movement.error:.1e} of the way that they move, on every rank"
        compared = compare(answer.value, answer.truth)
        otherwise = OTHERWISE["weights"].format(factor=compared.factor, residual=compared.residual)
        return WEIGHTS.judge(answer, expected, measured) or MOVEMENTS.explain(
            movement, expected=expected, measured=measured, otherwise=otherwise
        )
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
    names = ("state_bytes", "peak_bytes", "saved_bytes")
    return [
        JobRun(case, rank, own, weights[0], facts["collectives"], **{name: int(facts[name]) for name in names})
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


def averaged_weights(case: JobCase, *, each_update: bool) -> Tensor:
    """Return the weights if each rank steps on its own rows, and the ranks average weights."""
    models = [case.make_model() for _ in range(case.world_size)]
    optimizers = [torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, eps=EPSILON) for model in models]
    mean = _start(case)
    for update in range(UPDATES):
        for rank, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
            inputs, targets = case.make_batches(rank)[update]
            optimizer.zero_grad()
            with torch.enable_grad():
                torch.autograd.backward(F.mse_loss(model(inputs), targets))
            optimizer.step()
        mean = torch.stack([nn.utils.parameters_to_vector(model.parameters()).detach() for model in models]).mean(0)
        for model in models if each_update else ():
            nn.utils.vector_to_parameters(mean.clone(), model.parameters())
    return mean


@keep_cases
def _start(case: JobCase) -> Tensor:
    return nn.utils.parameters_to_vector(case.make_model().parameters()).detach()


def _run(trained_weights: Callable[[JobCase], Tensor], case: JobCase) -> Tensor:
    return trained_weights(case) - _start(case)  # AdamW moves weights by little: their norm hides an error


def _is_near(answer: Tensor, value: Tensor) -> bool:
    if not value.any():  # no movement has no norm to compare with
        return torch.equal(answer, value)
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
CLEAR, STEP, BEGIN = (
    "            optimizer.zero_grad()\n",
    "            optimizer.step()",
    "    model = case.make_model()\n",
)
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
        {CLEAR: ""},
    ),
    Misconception(
        "moments_begin_again",
        "You begin with new moments for each batch. Make the optimizer, or its state, once.",
        {STEP: f"{STEP}; optimizer = torch.optim.AdamW(model.parameters(), {RATES})"},
        variants=[
            {
                STEP: f"{STEP}; [one[name].zero_() for one in optimizer.state.values() "
                'for name in ("exp_avg", "exp_avg_sq")]'
            }
        ],
    ),
    Misconception(
        "count_never_rises",
        "You call every update the first. Bias correction needs the number of the update.",
        {STEP: f'{STEP}; [one["step"].zero_() for one in optimizer.state.values()]'},
    ),
    Misconception(
        "fewer_updates",
        "You make fewer updates than there are batches. Each pair makes one of its own, the last one too.",
        {"in range(UPDATES)": "in range(UPDATES - 1)"},
        variants=[
            {CLEAR: "", STEP: "            optimizer.step() if update + 1 == UPDATES else None"},
            {
                CLEAR: "",
                LOSS: f"{LOSS} / UPDATES",
                STEP: "            optimizer.step() if update + 1 == UPDATES else None",
            },
        ],
    ),
    Misconception(
        "other_mean",
        "You sum where F.mse_loss takes the mean: over rows, features and ranks. Look at what divides the sum.",
        {LOSS: 'loss = F.mse_loss(model(inputs), targets, reduction="sum") / case.world_size'},
        variants=[
            {LOSS: 'loss = F.mse_loss(model(inputs), targets, reduction="sum")'},
            {LOSS: f"{LOSS} * case.width"},
        ],
    ),
    Misconception(
        "fixed_world_size",
        "You divide by 4, however many ranks there are. Ask dist.get_world_size().",
        {LOSS: f"{LOSS} * case.world_size / 4"},
    ),
    Misconception(
        "rows_of_one_rank",
        "You train on the rows of rank 0. Every rank has batches of its own, and the gradient is the mean over all.",
        {"for own in batches)": "for own in batches[:1])"},
    ),
    Misconception(
        "weights_averaged",
        "You let each rank step on its own rows and average weights. Average gradients, then step.",
        {BEGIN: f"    return averaged_weights(case, each_update=True)\n{BEGIN}"},
        variants=[{BEGIN: f"    return averaged_weights(case, each_update=False)\n{BEGIN}"}],
    ),
    Misconception(
        "other_arguments",
        "You step with arguments of the lesson's `adamw_update`. This job has lr=0.05, eps=0.1, betas (0.9, 0.999) and "
        "a decay of 0.01.",
        {"eps=EPSILON": "eps=EPSILON, betas=(0.9, 0.99), weight_decay=0.1"},
        variants=[{RATES: "lr=0.01, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.1"}],
    ),
    Misconception(
        "epsilon_left_out",
        "You leave epsilon at AdamW's default. Pass eps=0.1.",
        {"eps=EPSILON": "eps=1e-8"},
    ),
    Misconception(
        "no_weight_decay",
        "You step without AdamW's weight decay of 0.01, or add it to the gradient. Use torch.optim.AdamW, not Adam.",
        {"eps=EPSILON": "eps=EPSILON, weight_decay=0.0"},
        variants=[{"AdamW(": "Adam(", "eps=EPSILON": "eps=EPSILON, weight_decay=0.01"}],
    ),
    Misconception(
        "no_update",
        "You leave the weights as they were. Look at which tensors your optimizer steps.",
        {STEP: "            pass"},
    ),
    run=_run,
    cases=job_cases,
    is_near=_is_near,
)
MOVEMENTS = Table[Movement](
    Misconception(
        "some_never_updated",
        "You leave some parameters as they were. Each needs an owner that updates it, and comes back from that owner.",
        shown_by=lambda seen: bool(seen.still) and 0.5 < seen.factor < 2,
        measured="{still} of {count} parameters as at the start",
    ),
    Misconception(
        "gradients_not_combined",
        "You send weights and never combine gradients, so each is that of one rank's rows. Reduce it first.",
        shown_by=lambda seen: set(seen.run.collectives) <= {"broadcast", "all_gather", "scatter"},
        measured="no collective but {run.collectives}",
    ),
    Misconception(
        "rounded_to_fewer_bits",
        "You round gradients or moments to fewer bits: the weights move almost as they should. Keep them in float32.",
        shown_by=lambda seen: seen.error < ROUNDED,
    ),
)
PEAK = Table[JobRun](
    Misconception(
        "whole_state",
        "You keep the moments of all weights on this rank: {state}, twice the weights' bytes. Keep a share of them on "
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
