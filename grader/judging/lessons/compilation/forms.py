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
from grader.lessons.compilation.forms import compiled_cases, train_case
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
    """

    backend: str
    rows: int
    updates: int
    facts: Mapping[str, Any]

    @property
    def graphs(self) -> int:
        """Graphs that were compiled."""
        return len(self.facts["backends"])

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
        evidence = Usage(case.backend, case.rows, case.updates, facts)
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
    expected, measured = (f"weights of norm {value['weights'].norm():.6g}" for value in (answer.truth, answer.value))
    otherwise = "It compiles once, but trains something else. Compare the batches, the optimizer and its rate."
    return TABLE.explain(answer, expected=expected, measured=measured, otherwise=otherwise)


COMPILED: tuple[Misconception[Usage], ...] = (
    Misconception(
        "graph_broken",
        "You train with graph breaks. Look at what is compiled: the model, not the loop around it.",
        shown_by=lambda usage: bool(usage.facts["breaks"]),
    ),
    Misconception(
        "another_backend",
        "You compile with {other_backend!r}. Hand `backend` on; a missing name means Inductor.",
        shown_by=lambda usage: bool(usage.other_backend),
    ),
    Misconception(
        "other_rows",
        "You train on batches of another size, and the last one is shorter. Set the batch size to `rows`: the "
        "Trainer's default is 8, that of a DataLoader 1.",
        shown_by=lambda usage: usage.facts["graph_rows"][:1] != [usage.rows],
    ),
    Misconception(
        "recompiled",
        "You compile more than once: the first forward writes `model.config.problem_type`, so its guard fails in the "
        "second. Set it to what it becomes, before the run.",
        shown_by=lambda usage: usage.graphs > 1,
    ),
    Misconception(
        "some_updates_not_compiled",
        "You run forwards outside of the compiled graph. Call the model that `prepare` returns.",
        shown_by=lambda usage: sum(usage.facts["graph_calls"]) < usage.updates,
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
        "You never call accelerator.backward. Write the loop with Accelerate.",
        shown_by=lambda usage: not usage.facts["backward"],
    ),
    Misconception(
        "plugin_not_used",
        "You do not tell the Accelerator to compile. Give it a dynamo_plugin, or the name of a dynamo_backend.",
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
SGD = "torch.optim.SGD(model.parameters(), lr=learning_rate)"
LOADER = "DataLoader(dataset, batch_size=rows)"
STEP = "        optimizer.step()\n"

TABLE = ReferenceTable(
    train_epoch,
    Misconception(
        "epoch_repeated",
        "You train for several epochs; the Trainer's default is three. Train for one.",
        {LOADER: f"list({LOADER}) * 3"},
        variants=[{LOADER: f"list({LOADER}) * 2"}],
    ),
    Misconception(
        "another_optimizer",
        "You train with AdamW, which is the Trainer's default. The raw loop has SGD.",
        {SGD: "torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)"},
        variants=[{SGD: "torch.optim.AdamW(model.parameters(), lr=learning_rate)"}],
    ),
    Misconception(
        "weights_hardly_move",
        "You hardly move the weights. There is a step for each batch, with the given learning_rate: the Trainer's "
        "default is 5e-5.",
        {SGD: "torch.optim.SGD(model.parameters(), lr=5e-5)"},
        variants=[{STEP: ""}],
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
