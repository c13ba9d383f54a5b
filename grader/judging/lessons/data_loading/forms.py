"""Judges which rows each rank saw in which update, and whether the run equals that of one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.data_loading.forms import LEARNING_RATE, LoadingCase, loading_cases
from grader.observation import Observation
from grader.observing.recording import flat_gradient, flat_weights
from grader.verdict import PASSED, Verdict

Batches = Sequence[Sequence[int]]


def train_epoch(
    model: nn.Module, dataset: Any, batches: Batches, collate: Callable[..., Any], learning_rate: float, ranks: int
) -> list[Tensor]:
    """Train one epoch in one process, share by share; return the gradient of each update."""
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    gradients = []
    for batch in batches:
        shares = [collate([dataset[row] for row in batch[rank::ranks]]) for rank in range(ranks)]
        loss = sum(model(**share).loss for share in shares) / ranks
        loss.backward()
        gradients.append(flat_gradient(model))
        optimizer.step()
        optimizer.zero_grad()
    return gradients


@dataclass(frozen=True)
class EpochRun:
    """What all ranks of one setting did.

    Attributes:
        case: The setting.
        reports: What each rank reported.
    """

    case: LoadingCase
    reports: Sequence[dict[str, Any]]

    @cached_property
    def batches(self) -> list[list[int]]:
        """The rows of each update."""
        return self.case.make_batches()

    @cached_property
    def seen(self) -> list[list[list[int]]]:
        """The rows of each forward, of each rank."""
        return [[forward["rows"] for forward in report["forwards"]] for report in self.reports]

    @cached_property
    def counts(self) -> Counter[int]:
        """How often each row was seen on all ranks together."""
        return Counter(row for forwards in self.seen for rows in forwards for row in rows)

    @property
    def forwards(self) -> int:
        """Forwards of the first rank."""
        return len(self.seen[0])

    @property
    def updates(self) -> int:
        """Updates of the epoch."""
        return len(self.batches)

    @property
    def lost(self) -> list[int]:
        """Rows that no rank saw."""
        return [row for row in range(self.case.rows) if row not in self.counts]

    @property
    def repeated(self) -> int:
        """Rows that were seen once more."""
        return sum(self.counts.values()) - len(self.counts)

    @cached_property
    def united(self) -> list[list[int]]:
        """The rows that all ranks saw in each update, sorted."""
        longest = max(map(len, self.seen))
        return [
            sorted(row for forwards in self.seen for row in (forwards[number] if number < len(forwards) else []))
            for number in range(longest)
        ]

    @property
    def wanted(self) -> list[list[int]]:
        """The rows of each update, sorted."""
        return [sorted(batch) for batch in self.batches]

    @property
    def is_same_everywhere(self) -> bool:
        """Whether all ranks saw the same rows in the same forwards."""
        return all(forwards == self.seen[0] for forwards in self.seen)

    @property
    def are_batches_whole(self) -> bool:
        """Whether ranks ran whole batches."""
        sets = [set(batch) for batch in self.batches]
        return bool(self.seen[0]) and all(set(rows) in sets for forwards in self.seen for rows in forwards)

    @property
    def is_dealt_twice(self) -> bool:
        """Whether a rank ran every world_size-th of its shares only."""
        return (
            bool(self.lost)
            and not self.are_batches_lost
            and 0 < self.forwards <= -(-self.updates // self.case.world_size)
        )

    @property
    def are_batches_lost(self) -> bool:
        """Whether whole batches are missing, and nothing else."""
        missing = set(self.lost)
        return bool(missing) and all(missing >= set(batch) or not missing & set(batch) for batch in self.batches)

    @property
    def epochs(self) -> int:
        """How often each row was seen, 0 if not all equally often."""
        times = {self.counts[row] for row in range(self.case.rows)}
        return times.pop() if len(times) == 1 else 0

    @property
    def shares(self) -> list[list[int]]:
        """How many rows each rank saw in each forward."""
        return [[len(rows) for rows in forwards] for forwards in self.seen]

    @cached_property
    def own_shares(self) -> list[list[list[int]]]:
        """The rows that each rank should see in each update, sorted."""
        ranks = self.case.world_size
        return [[sorted(batch[rank::ranks]) for batch in self.batches] for rank in range(ranks)]

    @property
    def seen_shares(self) -> list[list[list[int]]]:
        """The rows that each rank saw in each update, sorted."""
        return [[sorted(rows) for rows in forwards] for forwards in self.seen]

    @property
    def widest(self) -> int:
        """By how many positions a forward was wider than the longest row of its update."""
        return self._widest([self.batches] * self.case.world_size)

    @property
    def widest_share(self) -> int:
        """By how many positions a forward was wider than the longest row of its share."""
        return self._widest(self.own_shares)

    def _widest(self, known: Sequence[Batches]) -> int:
        lengths = [len(row) for row in self.case.make_dataset()["input_ids"]]
        return max(
            int(forward["width"]) - max(lengths[row] for row in rows)
            for report, shares in zip(self.reports, known, strict=True)
            for forward, rows in zip(report["forwards"], shares, strict=True)
        )

    def count(self, call: str) -> int:
        """How often the first rank made a call of a library."""
        return len(self.reports[0]["library"][call])

    @property
    def in_trainer(self) -> int:
        """Forwards of the first rank in Trainer.train."""
        return sum(self.reports[0]["library"]["forwards_in_trainer"])


def judge_batches_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the use of Accelerate, then the rows of each rank, then gradients and weights."""
    return _judge(observation, seed, ACCELERATE)


def judge_batches_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the use of the Trainer, then the rows of each rank, then gradients and weights."""
    return _judge(observation, seed, TRAINER)


def _judge(observation: Observation, seed: int, usage: Table[EpochRun]) -> Verdict:
    cases = loading_cases(seed)
    runs = [EpochRun(case, reports) for case, reports in zip(cases, observation.facts["settings"], strict=True)]
    if any(len(run.reports) != run.case.world_size for run in runs):
        raise ValueError("another number of ranks reported")
    for table in (usage, ROWS):
        for run in runs:
            expected = f"each of {run.updates} updates on its batch, shared by {run.case.world_size} ranks"
            verdict = table.judge(run, expected=expected, measured=f"rows of the first updates: {run.united[:2]}")
            if verdict:
                return verdict
    ranks = range(min(case.world_size for case in cases))
    for rank in ranks:
        answer = TABLE.answer(seed, [_values(observation, number, rank, run) for number, run in enumerate(runs)])
        for key in ("gradients", "weights"):
            part = answer.part(key)
            if not part.is_right:
                expected, measured = _size(part.truth), _size(part.value)
                return TABLE.explain(
                    answer, part, expected=f"{key} of {expected}", measured=measured, otherwise=OTHERWISE[key]
                )
    rows = " and ".join(f"{run.case.rows} rows on {run.case.world_size} ranks" for run in runs)
    return Verdict(PASSED, "", f"{rows}: each row once, and the weights of one process")


def _values(observation: Observation, setting: int, rank: int, run: EpochRun) -> dict[str, Tensor]:
    prefix = f"{setting}.{rank}."
    names = [f"{prefix}gradient.{number}" for number in range(run.updates)]
    present = [observation.tensors[name] for name in names if name in observation.tensors]
    gradients = torch.stack(present) if present else torch.zeros(0)
    return {"gradients": gradients, "weights": observation.tensors[f"{prefix}weights"]}


def _size(value: Tensor) -> str:
    rows = value if value.dim() == 2 else value[None]
    return "norm " + ", ".join(f"{float(torch.linalg.vector_norm(row)):.4g}" for row in rows[:6])


def _run(train: Callable[..., list[Tensor]], case: LoadingCase) -> dict[str, Tensor]:
    model = case.make_model()
    arguments = (case.make_dataset(), case.make_batches(), case.make_collate(), LEARNING_RATE, case.world_size)
    gradients = torch.stack(train(model, *arguments))
    return {"gradients": gradients, "weights": flat_weights(model)}


ACCELERATE = Table[EpochRun](
    Misconception(
        "trainer_in_its_place",
        "You train with the Trainer. Write the loop, with Accelerate.",
        shown_by=lambda run: run.count("trainer") > 0,
        expected="a loop with Accelerate",
        measured="Trainer.train was called",
    ),
    Misconception(
        "accelerator_not_used",
        "You do not use Accelerate. Prepare model, optimizer and loader, and call accelerator.backward.",
        shown_by=lambda run: not run.count("prepared") and not run.count("backward"),
        expected="a model prepared, and accelerator.backward",
        measured="neither",
    ),
    Misconception(
        "model_not_prepared",
        "You do not give the model to accelerator.prepare, which wraps it so that the ranks average their gradients.",
        shown_by=lambda run: "model" not in run.reports[0]["library"]["prepared"],
        expected="a model prepared",
        measured="none",
    ),
    Misconception(
        "accelerator_backward_not_used",
        "You call loss.backward(), which bypasses Accelerate. Call accelerator.backward(loss).",
        shown_by=lambda run: run.count("backward") < run.forwards,
        expected="accelerator.backward for each forward",
        measured="{forwards} forwards, and fewer calls",
    ),
)
TRAINER = Table[EpochRun](
    Misconception(
        "trainer_not_used",
        "You do not train with the Trainer. Make one, and call its .train().",
        shown_by=lambda run: not run.count("trainer"),
        expected="one Trainer.train",
        measured="none",
    ),
    Misconception(
        "forwards_outside_trainer",
        "You run the model in a loop, too. The Trainer makes all forwards.",
        shown_by=lambda run: run.in_trainer < run.forwards,
        expected="all {forwards} forwards in Trainer.train",
        measured="{in_trainer}",
    ),
)
ROWS = Table[EpochRun](
    Misconception(
        "same_rows_on_every_rank",
        "You run the same rows on every rank. Deal the shares out: a prepared loader gives one batch to each rank in "
        "turn.",
        shown_by=lambda run: run.forwards > 0 and run.is_same_everywhere,
    ),
    Misconception(
        "whole_batch_for_each_rank",
        "You give each rank a whole batch, so that an update holds several. prepare deals out what your batch sampler "
        "yields: cut each batch into one share for each rank first.",
        shown_by=lambda run: run.are_batches_whole,
    ),
    Misconception(
        "dealt_out_twice",
        "You deal the shares out yourself, and a prepared loader deals them out again: most rows are lost. Do one of "
        "the two.",
        shown_by=lambda run: run.is_dealt_twice,
        measured="{forwards} forwards of rank 0, and {lost} seen by no rank",
    ),
    Misconception(
        "batches_of_other_sizes_lost",
        "You lose whole batches. With max_steps, or a loop that ends early, the last ones are missing; split_batches "
        "skips every batch that has not the sampler's batch_size. Cut the shares yourself.",
        shown_by=lambda run: run.are_batches_lost,
        measured="rows {lost} seen by no rank",
    ),
    Misconception(
        "rows_lost",
        "You lose rows. Look for drop_last, for islice, and for a share that is rounded down.",
        shown_by=lambda run: bool(run.lost),
        measured="rows {lost} seen by no rank",
    ),
    Misconception(
        "several_epochs",
        "You go through the data {epochs} times. Train for one epoch: each entry of `batches` is one update.",
        shown_by=lambda run: run.epochs > 1,
        measured="each row seen {epochs} times",
    ),
    Misconception(
        "rows_repeated",
        "You train on some rows twice. With a batch_size, or with split_batches, a prepared loader makes batches of "
        "one size and fills up the last with rows from the start. Give it a plain list of shares as its batch_sampler.",
        shown_by=lambda run: run.repeated > 0,
        measured="{repeated} rows seen once more",
    ),
    Misconception(
        "batches_in_another_order",
        "You take the batches in another order. Their order was drawn already: do not shuffle.",
        shown_by=lambda run: run.united != run.wanted and sorted(run.united) == sorted(run.wanted),
    ),
    Misconception(
        "other_batches",
        "You mix rows of different batches in an update. A prepared loader deals out consecutive entries of the batch "
        "sampler: give it all shares of batches[0], one for each rank, then those of batches[1], and so on.",
        shown_by=lambda run: run.united != run.wanted,
    ),
    Misconception(
        "unequal_shares",
        "You give ranks unequal shares of a batch. The mean over ranks then weighs rows unequally.",
        shown_by=lambda run: any(shares != run.shares[0] for shares in run.shares),
        measured="rows of each forward, by rank: {shares}",
    ),
    Misconception(
        "shared_in_another_way",
        "You share a batch out in another way than `train_raw`. Rank r runs batch[r::world_size], so that long and "
        "short rows go to every rank.",
        shown_by=lambda run: run.seen_shares != run.own_shares,
        expected="rows of each update, by rank: {own_shares}",
        measured="{seen_shares}",
    ),
    Misconception(
        "padded_to_one_width",
        "You pad every batch to one width, so nothing is saved. `collate` pads to the longest row of the batch.",
        shown_by=lambda run: run.widest > 0,
        expected="a forward no wider than the longest row of its batch",
        measured="up to {widest} positions wider",
    ),
    Misconception(
        "padded_before_it_is_shared",
        "You collate the whole batch and then take a share of it, so every rank is as wide as the longest row of all. "
        "Take the share first.",
        shown_by=lambda run: run.widest_share > 0,
        expected="a forward no wider than the longest row of its share",
        measured="up to {widest_share} positions wider",
    ),
)
OTHERWISE = {
    "gradients": "The rows are right, the gradients are not. Count your updates, and look at what the loss is divided "
    "by, at the attention mask, and at all that happens between backward and step, such as clipping.",
    "weights": "The gradients are right, the weights are not. Look at the optimizer and its learning rate.",
}
SGD = "torch.optim.SGD(model.parameters(), lr=learning_rate)"
BACKWARD = "        loss.backward()\n"
FORWARD = "model(**share).loss"
near = within(relative=1e-3, absolute=2e-5)

TABLE = ReferenceTable(
    train_epoch,
    Misconception(
        "summed_over_ranks",
        "You sum the gradients of the ranks, or multiply the loss by their number. The mean is taken for you.",
        {BACKWARD: "        (loss * ranks).backward()\n"},
    ),
    Misconception(
        "divided_by_ranks",
        "You divide the loss by the number of ranks. The mean over the ranks is taken for you already.",
        {BACKWARD: "        (loss / ranks).backward()\n"},
    ),
    Misconception(
        "padding_attended",
        "You leave the attention mask out, so padding is attended to. Give the model all that `collate` returns.",
        {FORWARD: "model(**share | {'attention_mask': None}).loss"},
        variants=[{FORWARD: "model(input_ids=share['input_ids'], labels=share['labels']).loss"}],
    ),
    Misconception(
        "another_optimizer",
        "You train with AdamW, the Trainer's default. Set optim to sgd; `same_run` does.",
        {SGD: "torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)"},
        variants=[{SGD: "torch.optim.AdamW(model.parameters(), lr=learning_rate)"}],
    ),
    Misconception(
        "other_learning_rate",
        "You train with another learning rate. Pass `learning_rate` on as it is: the Trainer's default is 5e-5.",
        {SGD: "torch.optim.SGD(model.parameters(), lr=5e-5)"},
        variants=[
            {SGD: "torch.optim.SGD(model.parameters(), lr=learning_rate / ranks)"},
            {SGD: "torch.optim.SGD(model.parameters(), lr=learning_rate * ranks)"},
        ],
    ),
    Misconception(
        "gradient_clipped",
        "You clip the gradient at norm 1, the Trainer's default. Set max_grad_norm to 0; `same_run` does.",
        {
            "gradients.append(flat_gradient(model))": "nn.utils.clip_grad_norm_(model.parameters(), 1.0); "
            "gradients.append(flat_gradient(model))"
        },
    ),
    Misconception(
        "gradients_never_cleared",
        "You never clear the gradients, so each update also holds those before it.",
        {"        optimizer.zero_grad()\n": ""},
    ),
    Misconception(
        "cleared_before_the_step",
        "You clear the gradients before the optimizer uses them. Call zero_grad after step, or before backward.",
        {BACKWARD: f"{BACKWARD}        optimizer.zero_grad(set_to_none=False)\n"},
    ),
    Misconception(
        "updates_differ",
        "You have the right gradient in the first update and another in a later one, so you update in another way: "
        "plain SGD, with `learning_rate` as it is, without momentum or decay, and one zero_grad after each step.",
        shown_by=lambda answer: (
            answer.key == "gradients" and answer.value.dim() == 2 and near(answer.value[0], answer.truth[0])
        ),
    ),
    run=_run,
    cases=loading_cases,
    is_near=near,
)
