"""Judges a sharded optimizer step: its weights on every rank, its state, and what it sends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.lessons.sharding.reports import Facts, bytes_of, facts_of, is_near
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.judging.vectors import gradient_at
from grader.lessons.sharding.steps import EPSILON, LEARNING_RATE, UPDATES, StepCase, step_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


@dataclass(frozen=True)
class StepRun:
    """One rank of one setting.

    Attributes:
        case: The setting.
        rank: Number of the rank.
        facts: What it reported.
    """

    case: StepCase
    rank: int
    facts: Facts

    @cached_property
    def sizes(self) -> list[int]:
        """The sizes of the trained parameters."""
        return [parameter.numel() for parameter in self.case.make_model().parameters() if parameter.requires_grad]

    @property
    def total_bytes(self) -> int:
        """The bytes of all trained parameters in float32."""
        return 4 * sum(self.sizes)

    @property
    def share_bytes(self) -> int:
        """The largest share of a rank, if each tensor is cut and padded on its own."""
        return 4 * sum(-(-size // self.case.world_size) for size in self.sizes)

    @property
    def state_bytes(self) -> int:
        """The optimizer state of the rank."""
        return int(self.facts["state_bytes"])

    @property
    def most_state(self) -> int:
        """The largest right state: two numbers for each of a share, and a step count for each tensor."""
        return 2 * self.share_bytes + 4 * len(self.sizes)

    def put_in(self, *names: str) -> int:
        """Return the bytes that the rank put into these collectives for the last update."""
        return bytes_of(self.facts["calls"][-1], *names)

    @property
    def called(self) -> str:
        """The collectives of the last update, as text."""
        return ", ".join(f"{name} of {size:,} bytes" for name, size in self.facts["calls"][-1][:6]) or "nothing"


def judge_sharded_weights(observation: Observation, seed: int) -> Verdict:
    """Compare the weights of every rank after each update with AdamW on the gradient of all rows."""
    runs, seen = _runs(observation, seed), []
    for case_number in range(len(step_cases(seed))):
        of_case = [run for number, run in runs if number == case_number]
        verdict = next((verdict for run in of_case if (verdict := CALLED.judge(run))), None)
        if verdict:
            return verdict
        names = [[f"{case_number}.{run.rank}.weights.{update}" for run in of_case] for update in range(UPDATES)]
        seen.append([torch.stack([observation.tensors[name] for name in of_update]) for of_update in names])
    answer = WEIGHTS.answer(seed, seen)
    if answer.is_right:
        measured = f"{UPDATES} updates on 2, 3 and 4 ranks: AdamW's weights on every rank"
        return Verdict(PASSED, "the weights of AdamW on the whole gradient", measured)
    case = answer.case
    distances = []
    for of_update, right in zip(answer.value, answer.truth, strict=True):
        distances.append(float((of_update - right).norm() / right.norm()))
    expected = f"on each of {case.world_size} ranks the weights of one AdamW on the mean gradient"
    measured = "off by " + ", ".join(f"{one:.1e}" for one in distances) + " of their norm after the updates"
    return WEIGHTS.explain(answer, expected=expected, measured=measured, otherwise=OTHERWISE)


def judge_sharded_state(observation: Observation, seed: int) -> Verdict:
    """Compare the state of every rank with its share, and its collectives with the two of the contract."""
    runs = _runs(observation, seed)
    for table in (CALLED, STATE):
        for _, run in runs:
            verdict = table.judge(run)
            if verdict:
                return verdict
    shown = ", ".join(f"{run.state_bytes:,} of {2 * run.total_bytes:,} bytes" for _, run in runs if run.rank == 0)
    return Verdict(PASSED, "a share of the state on each rank", f"state of rank 0: {shown}")


OTHERWISE = (
    "You end in other weights than AdamW does on the gradient of all rows. For three parameters on two ranks, print "
    "the share, its gradient and the gathered vector: rank r holds piece r, and the padding is at the end."
)


def _runs(observation: Observation, seed: int) -> list[tuple[int, StepRun]]:
    return [
        (number, StepRun(case, rank, facts))
        for number, case in enumerate(step_cases(seed))
        for rank, facts in enumerate(facts_of(observation, number, case.world_size))
    ]


def trained_weights(case: StepCase) -> list[Tensor]:
    """Return after each update the weights of every rank [rank, weight]."""
    model, size = case.make_model(), case.world_size
    trained = torch.cat([torch.full((p.numel(),), p.requires_grad) for p in model.parameters()])
    start = nn.utils.parameters_to_vector(model.parameters()).detach()
    count = int(trained.sum())
    share = -(-count // size)
    shared = start[trained].clone().requires_grad_()
    options: dict[str, Any] = {"lr": LEARNING_RATE, "eps": EPSILON, "weight_decay": 0.01}
    optimizer = torch.optim.AdamW([shared], **options)
    weights, updates = [start.clone() for _ in range(size)], []
    for update in range(UPDATES):
        own = [_gradient(case, weights[rank], rank, update)[trained] for rank in range(size)]
        shared.grad = torch.stack(own).mean(dim=0)
        optimizer.step()
        for rank in range(size):
            kept = torch.arange(count) // share < 0  # numbers that a rank does not update
            new = torch.where(kept, weights[rank][trained], shared.detach())
            weights[rank] = weights[rank].masked_scatter(trained, new)
        updates.append(torch.stack(weights))
    return updates


def _gradient(case: StepCase, weights: Tensor, rank: int, update: int) -> Tensor:
    model, (inputs, targets) = case.make_model().requires_grad_(), case.make_batches(rank)[update]
    return gradient_at(model, lambda _: F.mse_loss(model(inputs), targets), weights, 0)


MEAN = "torch.stack(own).mean(dim=0)"
KEPT = "torch.arange(count) // share < 0"
OPTIMIZER = "torch.optim.AdamW([shared], **options)"


def _run(trained_weights: Callable[[StepCase], list[Tensor]], case: StepCase) -> list[Tensor]:
    return trained_weights(case)


def _are_near(answer: list[Tensor], value: list[Tensor]) -> bool:
    return all(map(is_near, answer, value))


WEIGHTS = ReferenceTable(
    trained_weights,
    Misconception(
        "gradients_summed",
        "You step with the sum of the gradients. reduce_scatter adds; divide by the number of ranks.",
        {MEAN: "torch.stack(own).sum(dim=0)"},
    ),
    Misconception(
        "divided_twice",
        "You divide the gradient by the number of ranks twice. Look for an average that is divided again.",
        {MEAN: "torch.stack(own).mean(dim=0) / size"},
    ),
    Misconception(
        "own_rows_only",
        "You step with the gradient of this rank's own rows. Each share needs that of all ranks: reduce-scatter it.",
        {MEAN: "torch.cat([one[share * r : share * (r + 1)] for r, one in enumerate(own)])"},
        variants=[{MEAN: "torch.cat([one[share * r : share * (r + 1)] / size for r, one in enumerate(own)])"}],
    ),
    Misconception(
        "never_gathered",
        "You leave each rank with its own share updated, and the other shares old. All-gather them after the step.",
        {KEPT: "torch.arange(count) // share != rank"},
    ),
    Misconception(
        "tail_left_out",
        "You leave out the numbers after the last whole share. Pad the vector with zeros, so that they belong to one.",
        {KEPT: "torch.arange(count) >= count // size * size"},
    ),
    Misconception(
        "not_written_back",
        "You leave the model's weights as they were. Gather the share that AdamW has updated, and write the gathered "
        "vector into the parameters.",
        {KEPT: "torch.ones(count, dtype=torch.bool)"},
    ),
    Misconception(
        "setting_left_out",
        "You leave the learning rate or epsilon at AdamW's default. Pass lr=learning_rate and eps=epsilon.",
        {'"eps": EPSILON': '"eps": 1e-8'},
        variants=[{'"lr": LEARNING_RATE': '"lr": 1e-3'}],
    ),
    Misconception(
        "another_weight_decay",
        "You step without AdamW's own weight decay. Use torch.optim.AdamW with its default, not Adam.",
        {'"weight_decay": 0.01': '"weight_decay": 0.0'},
        variants=[{OPTIMIZER: "torch.optim.Adam([shared], **options)"}],
    ),
    Misconception(
        "gradients_never_cleared",
        "You add this update's gradient to that of the last one. Replace the share's .grad in each step.",
        {MEAN: f"{MEAN} + (0 if shared.grad is None else shared.grad)"},
    ),
    Misconception(
        "gathered_before_the_step",
        "You gather the shares before AdamW's step, so the model is one update behind. Step first.",
        {
            "        optimizer.step()": "        before = shared.detach().clone(); optimizer.step()",
            "shared.detach())": "before)",
        },
    ),
    Misconception(
        "learning_rate_scaled",
        "You multiply the learning rate by the number of ranks. Each rank takes the step of the whole gradient as is.",
        {'"lr": LEARNING_RATE': '"lr": LEARNING_RATE * size'},
    ),
    Misconception(
        "moments_begin_again",
        "You make a new optimizer for each update, so its moments begin at zero. Make it once, outside of step.",
        {"        optimizer.step()": f"        optimizer = {OPTIMIZER}; optimizer.step()"},
    ),
    run=_run,
    cases=step_cases,
    is_near=_are_near,
)
TWO = "one reduce-scatter of the gradients and one all-gather of a share for each update"
CALLED = Table[StepRun](
    Misconception(
        "no_step_returned",
        "You do not return a function. Return step, without parentheses.",
        shown_by=lambda run: not run.facts["is_step"],
        expected="a function step()",
        measured="something that cannot be called",
    ),
    Misconception(
        "whole_tensors_dealt",
        "You deal whole tensors to the ranks, so shares have different sizes and a rank may have none. Flatten the "
        "tensors into one vector, and cut it into equal shares.",
        shown_by=lambda run: (
            not run.put_in("all_gather")
            and sorted(size for name, size in run.facts["calls"][-1] if name == "broadcast")
            == sorted(4 * size for size in run.sizes)
        ),
        expected=TWO,
        measured="{called}",
    ),
    Misconception(
        "nothing_sent",
        "You make no collective, so each rank trains a model of its own. Share gradients before the step and weights "
        "after it.",
        shown_by=lambda run: not any(run.facts["calls"]),
        expected="a reduce-scatter and an all-gather for each update",
        measured="no collective on rank {rank}",
    ),
    Misconception(
        "adamw_not_used",
        "You step with another optimizer than torch.optim.AdamW, or with none. Its state is what is shared out.",
        shown_by=lambda run: set(run.facts["optimizers"]) - {"AdamW", "Adam"} != set() or not run.facts["optimizers"],
        expected="steps of torch.optim.AdamW",
        measured="steps of {facts[optimizers]}",
    ),
)
STATE = Table[StepRun](
    Misconception(
        "state_not_sharded",
        "You keep the state of all parameters on each rank: AdamW holds moments for whatever you give it. Give it this "
        "rank's share only.",
        shown_by=lambda run: run.state_bytes >= 2 * run.total_bytes and not run.case.frozen,
        expected="at most {most_state} bytes of AdamW state on rank {rank} of {case.world_size}",
        measured="{state_bytes} bytes",
    ),
    Misconception(
        "state_above_share",
        "You keep more state than two numbers for each weight of a share. Look at how many numbers each rank gives to "
        "AdamW (none of frozen parameters), and at its options: amsgrad keeps a third.",
        shown_by=lambda run: run.state_bytes > run.most_state,
        expected="at most {most_state} bytes of AdamW state on rank {rank} of {case.world_size}",
        measured="{state_bytes} bytes",
    ),
    Misconception(
        "whole_all_reduce",
        "You all-reduce whole gradients, and then use one share of them. A reduce-scatter sends half as much.",
        shown_by=lambda run: run.put_in("all_reduce") >= run.total_bytes // 2,
        expected=TWO,
        measured="{called}",
    ),
    Misconception(
        "whole_vectors_gathered",
        "You all-gather more than one share from each rank. Reduce-scatter gradients, and all-gather updated shares.",
        shown_by=lambda run: run.put_in("all_gather", "gather") > run.share_bytes,
        expected=TWO,
        measured="{called}",
    ),
    Misconception(
        "other_collectives",
        "You do not reduce-scatter the whole float32 gradient of the trained weights, padded. Compare the bytes that "
        "you put in with theirs.",
        shown_by=lambda run: (
            not run.total_bytes <= run.put_in("reduce_scatter") <= run.share_bytes * run.case.world_size
        ),
        expected=TWO,
        measured="{called}",
    ),
    Misconception(
        "collectives_for_each_tensor",
        "You make several reduce-scatters or all-gathers per update, each with a latency of its own. Join the tensors "
        "in one vector first.",
        shown_by=lambda run: (
            len([name for name, _ in run.facts["calls"][-1] if name in ("reduce_scatter", "all_gather")]) > 2
        ),
        expected=TWO,
        measured="{called}",
    ),
    Misconception(
        "more_than_needed",
        "You make other large collectives besides the two. Remove what the model's weights do not need.",
        shown_by=lambda run: run.put_in("all_reduce", "broadcast", "reduce", "scatter", "all_to_all") > 64,
        expected=TWO,
        measured="{called}",
    ),
)
