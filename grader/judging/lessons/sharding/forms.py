"""Judges the Accelerate and the Trainer form of a sharded training: blocks sharded, bytes per rank, equal gradients."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from grader.judging.kept import keep_cases
from grader.judging.lessons.sharding.reports import Facts, facts_of, is_near
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.sharding.forms import BLOCK, LAYERS, LEARNING_RATE, ShardedFormsCase, sharded_forms_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

ACCELERATE, TRAINER = "accelerate", "trainer"


@dataclass(frozen=True, eq=False)
class FormRun:
    """One form on one rank of one setting.

    Attributes:
        form: "accelerate" or "trainer".
        case: The setting.
        rank: Number of the rank.
        facts: What it reported.
        first: What this rank held of the gradient at the first step.
        last: The same at the last step.
    """

    form: str
    case: ShardedFormsCase
    rank: int
    facts: Facts
    first: Tensor
    last: Tensor

    @property
    def calls(self) -> Facts:
        """The calls of the libraries."""
        calls: Facts = self.facts["library"]
        return calls

    @property
    def forwards(self) -> int:
        """How many forwards the rank ran."""
        return len(self.facts["rows"])

    @property
    def updates(self) -> int:
        """How many steps the rank made."""
        return len(self.facts["calls"])

    @property
    def rows(self) -> int:
        """Rows of the first forward."""
        return int(next(iter(self.facts["rows"]), 0))

    @property
    def in_trainer(self) -> int:
        """Forwards inside of Trainer.train."""
        return sum(self.calls["forwards_in_trainer"])

    @cached_property
    def sizes(self) -> Sizes:
        """The bytes of the model and of this rank's share."""
        return _sizes(self.case)

    @property
    def share_bytes(self) -> int:
        """The bytes of parameters that this rank should hold."""
        return self.sizes.shares[self.rank]

    @property
    def gathers(self) -> float:
        """How often a block was gathered for the last update, on average over the blocks."""
        kinds = Counter((name, size) for name, size in self.facts["calls"][-1])
        return kinds["all_gather", self.sizes.block_share] / LAYERS

    @property
    def right_gathers(self) -> int:
        """How often a block should be gathered for an update."""
        return 2 if self.case.reshard else 1


@dataclass(frozen=True)
class Sizes:
    """Bytes of a model.

    Attributes:
        total: Of all parameters.
        shares: Of what each rank holds, if each tensor is cut along its first dimension.
        block_share: Of what a rank puts into the all-gather of a block, padded.
    """

    total: int
    shares: tuple[int, ...]
    block_share: int


@keep_cases
def _sizes(case: ShardedFormsCase) -> Sizes:
    model, size = case.make_model(), case.world_size
    cuts = [_cut(parameter.detach(), size) for parameter in model.parameters()]
    block = next(module for module in model.modules() if type(module).__name__ == BLOCK)
    shares = tuple(sum(of_one[rank].nbytes for of_one in cuts) for rank in range(size))
    block_share = sum(_cut(parameter.detach(), size)[0].nbytes for parameter in block.parameters())
    return Sizes(sum(parameter.nbytes for parameter in model.parameters()), shares, block_share)


def _cut(tensor: Tensor, size: int) -> list[Tensor]:
    cut = list(tensor.chunk(size))
    return cut + [tensor[:0]] * (size - len(cut))


@keep_cases
def _gradients(case: ShardedFormsCase) -> tuple[tuple[Tensor, ...], ...]:
    """Return for each update the shares of its gradient, of each rank."""
    model, dataset = case.make_model(), case.make_dataset()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    updates = []
    for start in range(0, len(dataset), case.batch):
        rows = {name: torch.as_tensor(values) for name, values in dataset[start : start + case.batch].items()}
        optimizer.zero_grad()
        with torch.enable_grad():
            model(**rows).loss.backward()
        cuts = [_cut(parameter.grad.clone(), case.world_size) for parameter in model.parameters()]
        updates.append(tuple(torch.cat([of_one[rank].flatten() for of_one in cuts]) for rank in range(case.world_size)))
        optimizer.step()
    return tuple(updates)


def judge_sharded_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the Accelerate form: used as taught, sharded as asked for, equal to one process."""
    return _judge(observation, seed, ACCELERATE)


def judge_sharded_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the Trainer form: used as taught, sharded as asked for, equal to one process."""
    return _judge(observation, seed, TRAINER)


def _judge(observation: Observation, seed: int, form: str) -> Verdict:
    runs = [
        FormRun(
            form, case, rank, facts, *(observation.tensors[f"{number}.{rank}.{name}"] for name in ("first", "last"))
        )
        for number, case in enumerate(sharded_forms_cases(seed))
        for rank, facts in enumerate(facts_of(observation, number, case.world_size))
    ]
    for table in (USE[form], SHARDED[form], UPDATES[form], RESHARD[form]):
        for run in runs:
            verdict = table.judge(run)
            if verdict:
                return verdict
    shown = ", ".join(
        f"{run.facts['own_bytes']:,} of {run.sizes.total:,} bytes of parameters on {run.case.world_size} ranks"
        for run in runs
        if run.rank == 0
    )
    return Verdict(PASSED, "a sharded model with the gradient of all rows", shown)


PREPARED = "model and optimizer prepared in one call, and accelerator.backward for each batch"
USE = {
    ACCELERATE: Table[FormRun](
        Misconception(
            "trainer_in_its_place",
            "You train with the Trainer. Write the loop, with Accelerate.",
            shown_by=lambda run: bool(run.calls["trainer"]),
            expected=PREPARED,
            measured="Trainer.train was called",
        ),
        Misconception(
            "model_not_called",
            "You never run this model. Prepare the model that you receive, and train it.",
            shown_by=lambda run: not run.forwards,
            expected=PREPARED,
            measured="no forward",
        ),
        Misconception(
            "accelerator_not_used",
            "You do not call accelerator.backward after each forward. The plugin has to go to an Accelerator whose "
            "backward you call.",
            shown_by=lambda run: len(run.calls["backward"]) < run.forwards,
            expected=PREPARED,
            measured="{forwards} forwards, and fewer calls of accelerator.backward",
        ),
    ),
    TRAINER: Table[FormRun](
        Misconception(
            "trainer_not_used",
            "You do not train with the Trainer. Trainer(...) prepares, and its .train() trains.",
            shown_by=lambda run: not run.in_trainer,
            expected="the forwards in Trainer.train",
            measured="none in it",
        ),
        Misconception(
            "forwards_outside_trainer",
            "You run the model yourself, too. The Trainer makes all forwards.",
            shown_by=lambda run: run.forwards > run.in_trainer,
            expected="all forwards in Trainer.train",
            measured="{forwards} forwards, {in_trainer} of them in it",
        ),
    ),
}


def _sharded(form: str, plugin: str, wrap: str) -> Table[FormRun]:
    """Return the misconceptions about what is sharded, with the words of a form for two settings."""
    return Table[FormRun](
        Misconception(
            f"{form}_not_sharded",
            f"You train a whole copy of the model on each rank: plain data parallel. {plugin}",
            shown_by=lambda run: not run.facts["is_root_sharded"],
            expected="at most {share_bytes} bytes of parameters on rank {rank}",
            measured="{facts[own_bytes]} of {sizes.total} bytes, and {facts[state_bytes]} bytes of state",
        ),
        Misconception(
            f"{form}_blocks_not_wrapped",
            f"You shard the model in other units than its blocks, or as one unit. {wrap}",
            shown_by=lambda run: run.facts["sharded_blocks"] < LAYERS,
            expected=f"{LAYERS} blocks that are units of their own",
            measured="{facts[sharded_blocks]}",
        ),
        Misconception(
            f"{form}_optimizer_holds_whole_parameters",
            "You step an optimizer that does not hold this rank's shares. Make it of the model's parameters, and let "
            "it be prepared with the model.",
            shown_by=lambda run: run.facts["state_bytes"] > 2 * run.share_bytes + 4096,
            expected="two numbers of AdamW for each parameter of the share: {share_bytes} bytes twice",
            measured="{facts[state_bytes]} bytes of state",
        ),
        Misconception(
            f"{form}_mixed_precision",
            "You train in mixed precision, where the contract asks for float32. Leave it out.",
            shown_by=lambda run: run.facts["precision"] != "no",
            expected="float32",
            measured="{facts[precision]}",
        ),
    )


SHARDED = {
    ACCELERATE: _sharded(
        ACCELERATE,
        "Give the Accelerator an fsdp_plugin with fsdp_version=2.",
        "Name BertLayer in transformer_cls_names_to_wrap, and the policy.",
    ),
    TRAINER: _sharded(TRAINER, "Set fsdp=True in TrainingArguments.", "Name BertLayer in fsdp_config."),
}


def _reshard(form: str, free: str) -> Table[FormRun]:
    return Table[FormRun](
        Misconception(
            f"{form}_reshard_not_set",
            f"You do not use `reshard`. {free}",
            shown_by=lambda run: run.gathers != run.right_gathers,
            expected="{right_gathers} all-gathers of each block per update, with reshard = {case.reshard}",
            measured="{gathers:g}",
        )
    )


RESHARD = {
    ACCELERATE: _reshard(ACCELERATE, "Pass it to the plugin as reshard_after_forward."),
    TRAINER: _reshard(TRAINER, "Set reshard_after_forward in fsdp_config."),
}


def _is_gradient_times(run: FormRun, factor: float) -> bool:
    return is_near(run.first, factor * _gradients(run.case)[0][run.rank])


def _updates(form: str, scale: str) -> Table[FormRun]:
    """Return the misconceptions about rows, steps and gradients."""
    return Table[FormRun](
        Misconception(
            f"{form}_batch_not_divided",
            "You give each rank the rows of all ranks. Divide batch by their number.",
            shown_by=lambda run: run.rows == run.case.batch,
            expected="{case.rows} rows in a forward: a batch of {case.batch} on {case.world_size} ranks",
            measured="{rows} rows",
        ),
        Misconception(
            f"{form}_other_rows",
            "You give a forward another number of rows. batch counts the rows of all ranks.",
            shown_by=lambda run: run.rows != run.case.rows,
            expected="{case.rows} rows in a forward: a batch of {case.batch} on {case.world_size} ranks",
            measured="{rows} rows",
        ),
        Misconception(
            f"{form}_other_updates",
            "You make more or fewer forwards or updates than the epoch has. Prepare the loader, so that each rank sees "
            "its share once, and step after each forward.",
            shown_by=lambda run: not run.forwards == run.updates == run.case.updates,
            expected="forwards: {case.updates}, updates: {case.updates}",
            measured="forwards: {forwards}, updates: {updates}",
        ),
        Misconception(
            f"{form}_gradient_summed",
            f"You step with the sum of the ranks' gradients. {scale}",
            shown_by=lambda run: _is_gradient_times(run, run.case.world_size),
            expected="the mean gradient of all rows",
            measured="{case.world_size} times as much",
        ),
        Misconception(
            f"{form}_gradient_divided",
            "You divide the loss by the number of ranks. The reduce-scatter averages already.",
            shown_by=lambda run: _is_gradient_times(run, 1 / run.case.world_size),
            expected="the mean gradient of all rows",
            measured="1/{case.world_size} of it",
        ),
        Misconception(
            f"{form}_other_gradient",
            "You step with another gradient than that of the first {case.batch} rows. Look at the order of the rows, "
            "and at the loader: is it prepared?",
            shown_by=lambda run: not _is_gradient_times(run, 1),
            expected="the mean gradient of rows 0 to {case.batch}",
            measured="another gradient on rank {rank}",
        ),
        Misconception(
            f"{form}_gradients_kept",
            "You add an update's gradient to that of the update before. Clear the gradients after each step.",
            shown_by=lambda run: is_near(run.last, sum(shares[run.rank] for shares in _gradients(run.case))),
            expected="the mean gradient of the rows of each update",
            measured="that of the last one with the first added",
        ),
        Misconception(
            f"{form}_another_optimizer",
            "You step with another optimizer than AdamW. Look at where it is made or named.",
            shown_by=lambda run: run.facts["optimizers"] != ["AdamW"],
            expected="AdamW",
            measured="{facts[optimizers]}",
        ),
        Misconception(
            f"{form}_another_learning_rate",
            "You step with another learning rate. Pass learning_rate on.",
            shown_by=lambda run: [round(rate, 9) for rate in run.facts["rates"]] != [LEARNING_RATE],
            expected=f"{LEARNING_RATE}",
            measured="{facts[rates]}",
        ),
        Misconception(
            f"{form}_other_last_gradient",
            "You begin right, and end with another gradient. Keep AdamW's other arguments, and train each row once.",
            shown_by=lambda run: not is_near(run.last, _gradients(run.case)[-1][run.rank]),
            expected="the mean gradient of the last {case.batch} rows",
            measured="another gradient on rank {rank}",
        ),
    )


UPDATES = {
    ACCELERATE: _updates(ACCELERATE, "The reduce-scatter averages: leave the loss as it is."),
    TRAINER: _updates(
        TRAINER,
        "The Trainer expects a model that accepts loss arguments to divide: set accepts_loss_kwargs = False on it.",
    ),
}
