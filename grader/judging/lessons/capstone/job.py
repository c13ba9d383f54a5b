"""Judges lean runs of a language model: what they learn, then their place on the plane of bytes and FLOPs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.budget import claimed_peak_bytes
from grader.judging.group_gradient import mixture
from grader.judging.kept import keep_cases
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.capstone.job import LEARNING_RATE, JobCase, make_job_case, mean_loss, result_cases
from grader.meters.forecast import forecast_peak_memory
from grader.meters.operations import count_operations
from grader.meters.peak import PeakMemory
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

GRADIENT_TOLERANCE = 0.03  # products in 16 bits stay below 0.01
LOSS_MARGIN = (
    0.1  # of what the plain run learns; plain SGD misses twice as much, Adafactor and 8-bit Adam learn as much
)
# The reference front, with AdamW: a run without recomputation holds 0.22 to 0.23 of the plain run's peak, and one that
# runs each block again 0.13, at 1.22 times the FLOPs. A run between the two is compared with the line between them.
LEAN_SHARE, LEANEST_SHARE = 0.25, 0.14
MOST_FLOPS, FREE_FLOPS = 1.25, 1.02
CLIPPED_AT = (0.1, 0.25, 0.5, 1.0, 2.0)  # usual norms; max_grad_norm of the Trainer is 1
LARGE_WEIGHT, SMALL_WEIGHT = 0.5, 0.05  # root mean squares: of the norms' weights 1, of embeddings 0.02


def allowed_share(flops: float) -> float:
    """Return the largest peak, over the plain run's, of a run with so many times its FLOPs; 0 where it has too many."""
    if flops > MOST_FLOPS:
        return 0.0
    spent = min(max((flops - FREE_FLOPS) / (1.2 - FREE_FLOPS), 0.0), 1.0)
    return LEAN_SHARE + spent * (LEANEST_SHARE - LEAN_SHARE)


def judge_lean_result(observation: Observation, seed: int) -> Verdict:
    """Judge the number of updates, each gradient, and the loss."""
    return _judge_results(observation, seed) or Verdict(PASSED, "", _praise(observation))


def judge_lean_costs(observation: Observation, seed: int) -> Verdict:
    """Judge the FLOPs and the peak of the large run."""
    return _judge_costs(observation, seed)


def judge_library_run(observation: Observation, seed: int) -> Verdict:
    """Judge the same of a run with Accelerate or the Trainer."""
    for case, run in zip(result_cases(seed), observation.facts["runs"], strict=True):
        if not run["in_trainer"] and run["in_accelerate"] < case.updates:
            return Verdict(
                "no_library_used",
                f"Trainer.train, or accelerator.backward for each of {case.updates} updates",
                f"{run['in_trainer']} calls of Trainer.train, {run['in_accelerate']} of accelerator.backward",
                "You train in a raw loop. Hand the model to a Trainer, or run the backward pass through an "
                "Accelerator.",
            )
    return _judge_results(observation, seed) or _judge_costs(observation, seed)


def _praise(observation: Observation) -> str:
    losses = " and ".join(f"{run['loss']:.2f}" for run in observation.facts["runs"])
    return f"the gradient of each update, and losses of {losses}"


@dataclass(frozen=True, eq=False)
class Update:
    """One update of a small run, compared with the gradient of its batch.

    Attributes:
        case: The run.
        updates: How many updates it made.
        index: The number of this one, from 0.
        gradient: What the optimizer was given.
        weights: The weights at that moment.
        before: The gradient of the update before, zeros at the first one.
    """

    case: JobCase
    updates: int
    index: int
    gradient: Tensor
    weights: Tensor
    before: Tensor

    def is_gradient_of(self, loss: Callable[[Any, Tensor], Tensor], batch: int | None = None) -> bool:
        """Return whether the gradient is that of a loss of a batch, this update's own where none is named."""
        return self.is_near(_gradient(self.case, self.index if batch is None else batch, self.weights, loss))

    def is_near(self, truth: Tensor) -> bool:
        """Return whether the gradient is a given one, up to the rounding of 16-bit products."""
        return bool((self.gradient - truth).norm() <= GRADIENT_TOLERANCE * truth.norm())

    @cached_property
    def truth(self) -> Tensor:
        """The gradient of the mean loss of this update's batch."""
        return _gradient(self.case, self.index, self.weights, mean_loss)

    @property
    def norm(self) -> float:
        """The length of the gradient."""
        return float(self.gradient.norm())

    @cached_property
    def factor(self) -> float:
        """How many times too long the gradient is, where its direction is right; else 0."""
        length = float(self.gradient @ self.truth / self.truth.norm() ** 2)
        return length if self.is_near(length * self.truth) else 0.0

    def is_part(self) -> bool:
        """Return whether the gradient is that of some neighbouring rows of the batch, up to a factor."""
        rows = self.case.rows
        for start in range(rows):
            for stop in range(start + 1, rows + 1):
                part = _gradient(self.case, self.index, self.weights, _on_rows(start, stop))
                length = float(self.gradient @ part / part.norm() ** 2)
                if stop - start < rows and length > 0 and self.is_near(length * part):
                    return True
        return False

    def leaves_parameters_out(self) -> bool:
        """Return whether some parameters have no gradient, and all others the right one."""
        sizes = [parameter.numel() for parameter in self.case.make_model().parameters()]
        pairs = list(zip(torch.split(self.gradient, sizes), torch.split(self.truth, sizes), strict=True))
        trained = [(part, right) for part, right in pairs if bool(part.any()) or not bool(right.any())]
        return len(trained) < len(pairs) and all(
            bool((part - right).norm() <= GRADIENT_TOLERANCE * right.norm()) for part, right in trained
        )

    def is_of_other_rows(self) -> bool:
        """Return whether the gradient is that of as many rows, of whatever batches, weighted alike."""
        rows = [
            _gradient(self.case, batch, self.weights, _on_rows(row, row + 1))
            for batch in range(self.case.updates)
            for row in range(self.case.rows)
        ]
        weights = mixture(self.gradient, rows)
        if weights is None:
            return False
        shares = [round(weight / max(weights), 2) for weight in weights]
        return set(shares) <= {0.0, 1.0} and sum(shares) == self.case.rows


def _on_rows(start: int, stop: int) -> Callable[[Any, Tensor], Tensor]:
    return lambda model, batch: mean_loss(model, batch[start:stop])


def _shifted(model: Any, batch: Tensor) -> Tensor:
    return F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, :-1].flatten())


def _without_mask(model: Any, batch: Tensor) -> Tensor:
    time = batch.shape[1] - 1
    seen = torch.ones(time, time, dtype=torch.bool)
    return F.cross_entropy(model(batch[:, :-1], mask=seen).flatten(0, 1), batch[:, 1:].flatten())


def _without_positions(model: Any, batch: Tensor) -> Tensor:
    states = model.token_embedding(batch[:, :-1])
    for block in model.blocks:
        states = block(states)
    return F.cross_entropy(model.head(model.final_norm(states)).flatten(0, 1), batch[:, 1:].flatten())


def _without_norm(model: Any, batch: Tensor) -> Tensor:
    places = torch.arange(batch.shape[1] - 1)
    states = model.token_embedding(batch[:, :-1]) + model.position_embedding(places)
    for block in model.blocks:
        states = block(states)
    return F.cross_entropy(model.head(states).flatten(0, 1), batch[:, 1:].flatten())


def _gradient(case: JobCase, batch: int, weights: Tensor, loss: Callable[[Any, Tensor], Tensor]) -> Tensor:
    model = case.make_model()
    with torch.enable_grad():
        torch.nn.utils.vector_to_parameters(weights.float().clone(), model.parameters())
        parameters = list(model.parameters())
        value = loss(model, case.make_batches()[batch])
        parts = torch.autograd.grad(value, parameters, allow_unused=True, materialize_grads=True)
    return torch.cat([part.flatten() for part in parts])


GRADIENTS = Table[Update](
    Misconception(
        "gradient_not_averaged",
        "You never divide by the number of micro-batches: your gradient is {factor:.3g} times too long.",
        shown_by=lambda update: update.factor > 1.1 and abs(update.factor - round(update.factor)) < 0.05,
    ),
    Misconception(
        "gradient_divided_twice",
        "You divide twice: your gradient is {factor:.3g} times as long as it should be. A library that accumulates "
        "divides the loss itself.",
        shown_by=lambda update: 0 < update.factor < 0.9 and abs(1 / update.factor - round(1 / update.factor)) < 0.05,
    ),
    Misconception(
        "gradient_clipped",
        "You clip the gradient: its direction is right, and its norm is {norm:.3g}. The Trainer clips unless "
        "max_grad_norm is 0.",
        shown_by=lambda update: update.factor > 0 and any(abs(update.norm / usual - 1) < 0.02 for usual in CLIPPED_AT),
    ),
    Misconception(
        "gradient_scaled",
        "Your gradient has the right direction and {factor:.3g} times its length. Divide the sum of all losses by the "
        "number of tokens of the batch.",
        shown_by=lambda update: update.factor > 0,
    ),
    Misconception(
        "parameters_frozen",
        "You leave some parameters without a gradient, and so untrained. The plain run trains all of them.",
        shown_by=lambda update: update.leaves_parameters_out(),
    ),
    Misconception(
        "targets_not_shifted",
        "You let each token predict itself. The target of a position is the next token.",
        shown_by=lambda update: update.is_gradient_of(_shifted),
    ),
    Misconception(
        "batches_in_another_order",
        "You take the batches in another order. Each update belongs to the batch of its number.",
        shown_by=lambda update: any(update.is_gradient_of(mean_loss, other) for other in range(update.case.updates)),
    ),
    Misconception(
        "gradients_kept",
        "You add the gradients of earlier updates to this one. Clear them after each step.",
        shown_by=lambda update: update.index > 0 and update.is_near(update.truth + update.before),
    ),
    Misconception(
        "part_of_the_batch",
        "Your update is made of a part of its batch's rows. All rows of a batch count, with equal weight.",
        shown_by=lambda update: update.is_part(),
    ),
    Misconception(
        "future_attended",
        "You let positions attend to later ones, which hold the answer. Call the blocks without a mask of your own.",
        shown_by=lambda update: update.is_gradient_of(_without_mask),
    ),
    Misconception(
        "positions_forgotten",
        "You leave out the position embedding, which the model adds to that of the tokens.",
        shown_by=lambda update: update.is_gradient_of(_without_positions),
    ),
    Misconception(
        "last_norm_forgotten",
        "You leave out the model's final norm, which comes before its head.",
        shown_by=lambda update: update.is_gradient_of(_without_norm),
    ),
    Misconception(
        "rows_in_another_order",
        "You make the update from rows of several batches. The Trainer draws rows at random unless "
        "train_sampling_strategy says otherwise.",
        shown_by=lambda update: update.is_of_other_rows(),
    ),
)


def _judge_results(observation: Observation, seed: int) -> Verdict | None:
    for number, (case, run) in enumerate(zip(result_cases(seed), observation.facts["runs"], strict=True)):
        if run["updates"] != case.updates:
            return _other_updates(case, int(run["updates"]))
        before = torch.zeros_like(observation.tensors[f"{number}.gradient.0"])
        for index in range(case.updates):
            gradient, weights = (observation.tensors[f"{number}.{name}.{index}"] for name in ("gradient", "weights"))
            update = Update(case, case.updates, index, gradient, weights, before)
            if not update.is_near(update.truth):
                return _another_gradient(update)
            before = gradient
        start, plain = _plain_losses(case)
        target = plain + LOSS_MARGIN * (start - plain)
        if not run["loss"] <= target:
            return _too_little_learned(observation, number, case, run["loss"], target)
    return None


def _another_gradient(update: Update) -> Verdict:
    return GRADIENTS.explain(
        update,
        expected=f"the gradient of the mean loss of batch {update.index}, of norm {update.truth.norm():.3g}",
        measured=f"another gradient at update {update.index}, of norm {update.norm:.3g}",
        otherwise="Compare one update with train_plain: the gradient right before optimizer.step() differs.",
    )


def _other_updates(case: JobCase, updates: int) -> Verdict:
    expected, measured = f"{case.updates} calls of optimizer.step()", f"{updates} calls"
    if updates == 0:
        look_at = "You make no update of this model. Train the model that you are given, not a copy of it."
        return Verdict("no_update", expected, measured, look_at)
    if updates == case.updates * case.rows:
        look_at = "You make an update for each row. The micro-batches of a batch share one update."
        return Verdict("update_for_each_micro_batch", expected, measured, look_at)
    if updates % case.updates == 0:
        look_at = "You make several updates for each batch. Look for epochs, and for steps of micro-batches."
        return Verdict("several_updates_for_a_batch", expected, measured, look_at)
    look_at = "You make another number of updates. Each batch makes one."
    return Verdict("other_number_of_updates", expected, measured, look_at)


def _too_little_learned(observation: Observation, number: int, case: JobCase, loss: float, target: float) -> Verdict:
    expected, measured = f"a loss of at most {target:.2f} after {case.updates} updates", f"{loss:.2f}"
    tensors = observation.tensors
    moves = [tensors[f"{number}.weights.{i + 1}"] - tensors[f"{number}.weights.{i}"] for i in range(case.updates - 1)]
    gradients = [tensors[f"{number}.gradient.{i}"] for i in range(case.updates - 1)]
    if any(not bool(move.any()) for move in moves):
        look_at = "You leave the weights as they are. Look for a step that is skipped, or a learning rate of 0."
        return Verdict("weights_unchanged", expected, measured, look_at)
    pairs = zip(moves, gradients, strict=True)
    if all((move + LEARNING_RATE * gradient).norm() < 0.01 * move.norm() for move, gradient in pairs):
        look_at = "You step with plain SGD. It has no state, and it learns less in as many updates: look for an "
        return Verdict("plain_sgd", expected, measured, look_at + "optimizer whose state is small.")
    sizes = [float(move.abs().mean()) for move in moves]
    if _follow_the_weights(moves[0], tensors[f"{number}.weights.0"], case):
        look_at = (
            "Your optimizer multiplies the rate by the size of each weight matrix, as torch.optim.Adafactor does "
            "(lesson 07). With this rate small weights hardly move. Take one that uses the rate as it is."
        )
        return Verdict("rate_relative_to_weights", expected, measured, look_at)
    if max(sizes) < 0.3 * LEARNING_RATE:
        look_at = "Your steps are too short. Pass the optimizer the `learning_rate` of this call, and no warm-up."
        return Verdict("learning_rate_too_small", expected, measured, look_at)
    if sizes[-1] < 0.35 * max(sizes):
        look_at = (
            "Your steps become shorter with each update. The Trainer's schedule falls to 0 unless you set another."
        )
        return Verdict("learning_rate_falls", expected, measured, look_at)
    look_at = "Your gradients are right, and your steps learn too little. Look at the optimizer and its arguments."
    return Verdict("too_little_learned", expected, measured, look_at)


def _follow_the_weights(move: Tensor, weights: Tensor, case: JobCase) -> bool:
    """Return whether small tensors move less at first, as much as they are smaller, and large ones by the rate."""
    shapes = [parameter.numel() for parameter in case.make_model().parameters()]
    pairs = list(zip(torch.split(move, shapes), torch.split(weights, shapes), strict=True))
    large = [float(step.abs().mean()) for step, weight in pairs if float(weight.square().mean().sqrt()) > LARGE_WEIGHT]
    small = [float(step.abs().mean()) for step, weight in pairs if float(weight.square().mean().sqrt()) < SMALL_WEIGHT]
    return bool(large and small) and min(large) > 0.3 * LEARNING_RATE > 1.5 * max(small)


@keep_cases
def _plain_losses(case: JobCase) -> tuple[float, float]:
    """Return the loss before and after the plain run, on the batch that it does not train on."""
    model, (*batches, other) = case.make_model(), case.make_batches()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    with torch.no_grad():
        start = mean_loss(model, other).item()
    _train_plain(model, batches, optimizer)
    with torch.no_grad():
        return start, mean_loss(model, other).item()


def _train_plain(model: Any, batches: list[Tensor], optimizer: torch.optim.Optimizer) -> None:
    with torch.enable_grad():
        for batch in batches:
            torch.autograd.backward(mean_loss(model, batch))
            optimizer.step()
            optimizer.zero_grad()


@dataclass(frozen=True, eq=False)
class LeanRun:
    """What a run did and held.

    Attributes:
        case: The run.
        costs: What was counted.
        flops: Its FLOPs, over the plain run's.
        share: Its peak, over the plain run's.
    """

    case: JobCase
    costs: Mapping[str, int]
    flops: float
    share: float

    @property
    def rows_at_once(self) -> float:
        """Rows whose tensors are held together."""
        return self.costs["most_waiting"] / self.case.time

    @property
    def rows_of_a_forward(self) -> float:
        """Rows of the largest forward."""
        return self.costs["largest"] / self.case.time

    @property
    def logits_mib(self) -> float:
        """Of the largest tensor of logits."""
        return self.costs["logit_rows"] * self.case.vocabulary * 4 / 2**20


COSTS = Table[LeanRun](
    Misconception(
        "everything_computed_again",
        "You compute {flops:.2f} times as much as the plain run. A checkpoint around each block takes 1.22 times; one "
        "around all of them, or within another, computes more again and holds no less.",
        shown_by=lambda run: run.flops > MOST_FLOPS and run.costs["recomputed"] > 0,
    ),
    Misconception(
        "trained_more_than_once",
        "You pass {flops:.2f} times the plain run's work through the model, without computing anything again in the "
        "backward pass. Look for epochs, and for forward passes whose result is not used.",
        shown_by=lambda run: run.flops > MOST_FLOPS,
    ),
    Misconception(
        "nothing_leaner",
        "You hold the logits of {costs[logit_rows]} positions and the tensors of all {case.rows} rows at once. Each of "
        "the two has a lesson that holds less: 13 and 02.",
        shown_by=lambda run: (
            _holds_logits(run) and run.rows_of_a_forward >= run.case.rows and not run.costs["recomputed"]
        ),
    ),
    Misconception(
        "graphs_of_all_micro_batches",
        "You run several forward passes before the first backward pass, so the tensors of {rows_at_once:.3g} rows are "
        "held together. Call backward for each micro-batch.",
        shown_by=lambda run: run.rows_at_once >= 2 * run.rows_of_a_forward,
    ),
    Misconception(
        "logits_whole",
        "You hold logits of {logits_mib:.3g} MiB: the scores of {costs[logit_rows]} positions for every token of the "
        "vocabulary. Compute the loss chunk by chunk (lesson 13).",
        shown_by=lambda run: _holds_logits(run),
    ),
    Misconception(
        "all_rows_at_once",
        "You pass {rows_of_a_forward:.3g} rows through the model at once. Micro-batches cost no FLOPs (lesson 02).",
        shown_by=lambda run: run.rows_of_a_forward >= 2,
    ),
)


def _holds_logits(run: LeanRun) -> bool:
    return 10 * run.costs["logit_rows"] >= 9 * run.costs["largest"]


def _judge_costs(observation: Observation, seed: int) -> Verdict:
    case, costs, (claim,) = make_job_case(seed), observation.facts["costs"], observation.facts["claims"]
    plain_flops = _plain_flops(case)
    baseline = _plain_peak(case, "cpu" if claim["device"] == "cpu" else "cuda")
    needed = distinct_storage_bytes([*case.make_model().parameters(), *case.make_batches()[:-1]])
    peak = claimed_peak_bytes(claim, needed)
    run = LeanRun(case, costs, costs["flops"] / plain_flops, peak / baseline.peak_bytes)
    plain = f"the plain run's {format_bytes(baseline.peak_bytes)}"
    measured = f"{format_bytes(peak)}, {run.share:.0%} of {plain}, at {run.flops:.2f} times its FLOPs"
    if costs["positions"] < case.updates * case.rows * case.time:
        expected = f"{case.updates * case.rows * case.time:,} positions through the first block"
        look_at = "You pass a part of the rows through the model, in the large run. Every row of every batch counts."
        return Verdict("part_of_the_work", expected, f"{costs['positions']:,} positions", look_at)
    if run.flops < 0.98:
        expected = f"the plain run's {plain_flops / 1e9:.3g} GFLOPs, or more"
        look_at = "You compute less than the run needs. Run every product of the model, forward and backward."
        return Verdict("part_of_the_work", expected, measured, look_at)
    expected = f"at most {MOST_FLOPS} times the FLOPs"
    if run.flops <= MOST_FLOPS:
        expected = f"at most {allowed_share(run.flops):.0%} of {plain}, at {run.flops:.2f} times its FLOPs"
    if run.share <= allowed_share(run.flops):
        return Verdict(PASSED, expected, measured)
    otherwise = "You hold too much. Look at gradients and optimizer state, at tensors that a variable still names, "
    otherwise += "and at how much you checkpoint at once."
    return COSTS.explain(run, expected=expected, measured=measured, otherwise=otherwise)


@keep_cases
def _plain_flops(case: JobCase) -> int:
    model, batches = case.make_model(), case.make_batches()[:-1]
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    return count_operations(lambda: _train_plain(model, batches, optimizer)).flops


@keep_cases
def _plain_peak(case: JobCase, operators: str) -> PeakMemory:
    def prepare() -> dict[str, object]:
        model = case.make_model()
        shape = (case.rows, case.time + 1)
        batches = [torch.zeros(shape, dtype=torch.int64) for _ in range(case.updates)]

        def step() -> None:
            _train_plain(model, batches, torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE))

        return {"step": step, "model": model, "inputs": batches}

    return forecast_peak_memory(prepare, operators=operators)
