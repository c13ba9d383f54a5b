"""Judges one epoch of a compiled model, in the form of Accelerate and of the Trainer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader

from grader.device import lesson_device
from grader.judging.forms import count
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.compilation.forms import CompiledCase, compiled_cases, train_case
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def train_epoch(model: Any, dataset: Any, rows: int, learning_rate: float, backend: str) -> None:
    """Train one epoch in a raw loop, uncompiled: a compiled model has to end in the same weights."""
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    for batch in DataLoader(dataset, batch_size=rows):
        loss = model(**{name: values.to(lesson_device()) for name, values in batch.items()}).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@dataclass(frozen=True)
class Usage:
    """How a learner's function compiled in one setting.

    Attributes:
        backend: The backend that was asked for.
        rows: Rows of a batch.
        updates: Updates of the epoch.
        facts: What `run_compiled` recorded.
        sums: The sum of the tokens of each batch.
    """

    backend: str
    rows: int
    updates: int
    facts: Mapping[str, Any]
    sums: tuple[int, ...]

    @property
    def graphs(self) -> int:
        """Graphs that were compiled."""
        return len(self.facts["backends"])

    @property
    def made(self) -> str:
        """The updates that were made, with their noun."""
        return count(self.facts["updates"], "update")

    @property
    def other_backend(self) -> str:
        """A backend that was used and not asked for, or nothing."""
        return next((name for name in self.facts["backends"] if name != self.backend), "")


def judge_compiled_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the use of Accelerate and the graphs, then the weights."""
    return _judge(observation, seed, ACCELERATE, "a loop with Accelerate, compiled by its plugin")


def judge_compiled_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge the use of the Trainer and the graphs, then the weights."""
    return _judge(observation, seed, TRAINER, "one Trainer.train, compiled by its arguments")


def _judge(observation: Observation, seed: int, usage: Table[Usage], form: str) -> Verdict:
    cases = compiled_cases(seed)
    for case, facts in zip(cases, observation.facts["calls"], strict=True):
        evidence = _usage_of(case, facts)
        expected = f"{form}: 1 graph by {case.backend!r} for {case.updates} updates, no recompile"
        by = ", ".join(sorted(set(facts["backends"]))) or "nothing"
        measured = f"{count(evidence.graphs, 'graph')} by {by}, {count(len(facts['breaks']), 'break')}"
        measured += f"; the plugin's backend is {facts['plugin']!r}"
        verdict = usage.judge(evidence, expected=expected, measured=measured)
        if verdict:
            return verdict
    answer = TABLE.answer(seed, [{"weights": observation.tensors[str(index)]} for index in range(len(cases))])
    if answer.is_right:
        return Verdict(PASSED, "", f"the weights of the raw loop in {len(cases)} settings, compiled once in each")
    wrong: CompiledCase = answer.case
    ended, wanted, start = (value["weights"] for value in (answer.value, answer.truth, train_case(_leave, wrong)))
    expected = "the weights of the raw loop"
    measured = f"weights that end {float((ended - wanted).norm() / (wanted - start).norm()):,.2%} away from them"
    verdict = BATCHES.judge(_usage_of(wrong, observation.facts["calls"][answer.wrong[0]]), expected, measured)
    otherwise = "You compile once, and make an update from each batch of the raw loop, but other updates. Compare the "
    otherwise += "optimizer, its rate and options, clipping, clearing, the loss and its precision with train_raw."
    return verdict or TABLE.explain(answer, expected=expected, measured=measured, otherwise=otherwise)


def _leave(*_: Any) -> None:
    """Train nothing."""


def _usage_of(case: CompiledCase, facts: Mapping[str, Any]) -> Usage:
    batches = DataLoader(case.make_dataset(), batch_size=case.rows)
    sums = tuple(int(batch["input_ids"].sum()) for batch in batches)
    return Usage(case.backend, case.rows, case.updates, facts, sums)


COMPILED: tuple[Misconception[Usage], ...] = (
    Misconception(
        "graph_broken",
        "You train with graph breaks. Look at what is compiled: the model, not the loop around it.",
        shown_by=lambda usage: bool(usage.facts["breaks"]),
    ),
    Misconception(
        "another_backend",
        "You compile with {other_backend!r}. Hand `backend` on; without a name, the Trainer takes Inductor.",
        shown_by=lambda usage: bool(usage.other_backend),
    ),
    Misconception(
        "other_rows",
        "You train on batches of another size. Set the batch size to `rows`: the "
        "Trainer's default is 8, that of a DataLoader 1.",
        shown_by=lambda usage: usage.facts["graph_rows"][:1] != [usage.rows],
    ),
    Misconception(
        "blocks_compiled",
        "You compile the model block by block, {graphs} graphs in all. The task is one graph of the whole model: leave "
        "regional compilation off.",
        shown_by=lambda usage: bool(usage.facts["is_regional"]),
    ),
    Misconception(
        "recompiled",
        "You compile more than once. Where `model.config.problem_type` is None, the first forward writes it, so its "
        "guard fails in the second: set it to what it becomes, before the run.",
        shown_by=lambda usage: usage.graphs > 1,
    ),
    Misconception(
        "some_updates_not_compiled",
        "You run forwards outside of the compiled graph. Call the model that `prepare` returns.",
        shown_by=lambda usage: sum(usage.facts["graph_calls"]) < usage.facts["updates"],
    ),
)
ACCELERATE = Table[Usage](
    Misconception(
        "trainer_used",
        "You train with the Trainer. Write a loop with Accelerate.",
        shown_by=lambda usage: bool(usage.facts["trainer"]),
    ),
    Misconception(
        "accelerator_backward_not_used",
        "You never call accelerator.backward. Write the loop with Accelerate, whose `backward` also scales and "
        "accumulates where it is asked to.",
        shown_by=lambda usage: not usage.facts["backward"],
    ),
    Misconception(
        "backend_from_the_environment",
        "You set the backend in the environment, where every later Accelerator of the process finds it. Pass it to "
        "this Accelerator.",
        shown_by=lambda usage: bool(usage.facts["is_in_environment"]),
    ),
    Misconception(
        "plugin_not_used",
        "You name no backend to the Accelerator, and then it does not compile. Give it a `dynamo_backend`, or a "
        "`TorchDynamoPlugin` with its `backend`.",
        shown_by=lambda usage: usage.facts["plugin"] == "no",
    ),
    Misconception(
        "model_not_prepared",
        "You set the plugin, but the model that you train was never compiled: `prepare` returns the one that is.",
        shown_by=lambda usage: usage.graphs == 0,
    ),
    *COMPILED,
)
TRAINER = Table[Usage](
    Misconception(
        "trainer_not_used",
        "You train without the Trainer. Make one and call its .train().",
        shown_by=lambda usage: not usage.facts["trainer"],
    ),
    Misconception(
        "trained_in_a_loop_too",
        "You train the model in a loop as well. The Trainer writes the whole loop.",
        shown_by=lambda usage: bool(usage.facts["backward"]),
    ),
    Misconception(
        "flag_not_set",
        "You do not ask the Trainer to compile. Look for the arguments that begin with `torch_compile`.",
        shown_by=lambda usage: usage.facts["plugin"] == "no",
    ),
    *COMPILED,
)
BATCHES = Table[Usage](
    Misconception(
        "rows_in_another_order",
        "You train on the rows in another order than the raw loop. Do not shuffle: the Trainer does, unless `same_run` "
        "is passed on.",
        shown_by=lambda usage: any(
            wanted not in seen for wanted, seen in zip(usage.sums, usage.facts["sums"], strict=False)
        ),
    ),
    Misconception(
        "updates_left_out",
        "You make {made} from {updates} batches. Step after each of them: do not accumulate, or stop early.",
        shown_by=lambda usage: usage.facts["updates"] < usage.updates,
    ),
    Misconception(
        "epoch_repeated",
        "You make {made}, but an epoch has {updates} batches. Train for one; the Trainer's default is three.",
        shown_by=lambda usage: usage.facts["updates"] > usage.updates,
    ),
)
SGD = "torch.optim.SGD(model.parameters(), lr=learning_rate)"
STEP = "        optimizer.step()\n"

TABLE = ReferenceTable(
    train_epoch,
    Misconception(
        "another_optimizer",
        "You train with AdamW, the Trainer's default. The raw loop has SGD.",
        {SGD: "torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)"},
        variants=[{SGD: "torch.optim.AdamW(model.parameters(), lr=learning_rate)"}],
    ),
    Misconception(
        "weights_hardly_move",
        "You hardly move the weights: the learning rate is 5e-5, the Trainer's default. Set `learning_rate`.",
        {SGD: "torch.optim.SGD(model.parameters(), lr=5e-5)"},
    ),
    Misconception(
        "learning_rate_decays",
        "You let the learning rate fall to 0, as the Trainer's default schedule does. Keep it constant.",
        {
            STEP: f"        optimizer.param_groups[0]['lr'] -= learning_rate * bool(done) / (len(dataset) // rows)\n"
            f"        done += 1\n{STEP}",
            "    for batch in": "    done = 0\n    for batch in",
        },
    ),
    Misconception(
        "momentum_added",
        "You give SGD a momentum of 0.9. The raw loop has none.",
        {SGD: "torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)"},
    ),
    Misconception(
        "learning_rate_hard_coded",
        "You train with the notebook's learning rate, 0.1. Use learning_rate.",
        {SGD: "torch.optim.SGD(model.parameters(), lr=0.1)"},
    ),
    Misconception(
        "gradient_clipped",
        "You let the Trainer clip the gradient. Set max_grad_norm: the default is 1.0.",
        {STEP: f"        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n{STEP}"},
    ),
    Misconception(
        "gradients_never_cleared",
        "You never clear the gradients, so each update also holds those before it.",
        {"        optimizer.zero_grad()\n": ""},
    ),
    run=train_case,
    cases=compiled_cases,
    is_near=within(relative=1e-3, absolute=2e-5),
)
