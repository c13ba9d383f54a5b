"""Judges the runs of a student: what was asked of both models, which library trained, and where the student ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from grader.device import lesson_device
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.distillation.runs import (
    Batch,
    DistilCase,
    Loss,
    TrainerCase,
    distil_cases,
    run_distil,
    run_trainer,
    trainer_cases,
)
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict


def distil(
    student: nn.Module, teacher: nn.Module, loss_function: Loss, batches: Sequence[Batch], learning_rate: float
) -> list[float]:
    """Train a student for one pass in train mode, with a teacher in eval mode; return the losses."""
    teacher.eval()
    student.train()
    optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
    losses = []
    for inputs, labels in batches:
        targets = teacher(inputs).detach()
        loss = loss_function(student(inputs), targets, labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_pairs(student: Any, teacher: Any, loss_function: Loss, dataset: Any, rows: int, learning_rate: float) -> None:
    """Train a student on sentence pairs for one epoch in a raw loop."""
    optimizer = torch.optim.SGD(student.parameters(), lr=learning_rate)
    for batch in DataLoader(dataset, batch_size=rows):
        batch = {name: values.to(lesson_device()) for name, values in batch.items()}
        labels = batch.pop("labels")
        targets = teacher(**batch).logits.detach()
        loss_function(student(**batch).logits, targets, labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()


@dataclass(frozen=True)
class Run:
    """What was recorded of one run.

    Attributes:
        record: What `run_distil` or `run_trainer` recorded.
        case: The setting.
    """

    record: Mapping[str, Any]
    case: DistilCase | TrainerCase

    @property
    def asked(self) -> int:
        """Forwards of the teacher."""
        return len(self.record["modes"])

    @property
    def forwards(self) -> int:
        """Forwards of the student, or calls of the loss where they are more."""
        return max(len(self.record["student_rows"]), len(self.record["labels"]))

    @property
    def optimizer(self) -> str:
        """The optimizer of the updates, with the settings that plain SGD does not have; "SGD" if none was recorded."""
        step = next(iter(self.record["steps"]), {"optimizer": "SGD"})
        kept = [f"{name} {step[name]:g}" for name in ("momentum", "weight_decay") if step.get(name)]
        return " with ".join([step["optimizer"], *kept])

    @property
    def rates(self) -> str:
        """The learning rate of each update."""
        return ", ".join(f"{step['lr']:.3g}" for step in self.record["steps"])

    @property
    def measured(self) -> str:
        """What the three lines say of it."""
        record, student_modes = self.record, self.record["student_modes"]
        mode, student_mode = (("eval", "train")[is_on] for is_on in (any(record["modes"]), all(student_modes)))
        graph = "with" if any(record["graphs"]) else "without"
        end = "in an optimizer" if record["optimized"] else "changed" if record["changed"] else "unchanged"
        student = f"of the student: {len(student_modes)}, in {student_mode} mode"
        return f"forwards of the teacher: {self.asked}, in {mode} mode, {graph} a graph, {end}; {student}"


def judge_distilled_student(observation: Observation, seed: int) -> Verdict:
    """Judge what was asked of both models, then the losses and the student's weights."""
    runs = [Run(*pair) for pair in zip(observation.facts["records"], distil_cases(seed), strict=True)]
    losses = observation.facts["losses"]
    ends = [{"weights": observation.tensors[str(index)], "losses": losses[index]} for index in range(len(runs))]
    return _judge(STUDENT, seed, runs, ends)


def judge_distillation_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge that the Trainer trained, then what was asked of both models, then the student's weights."""
    runs = [Run(*pair) for pair in zip(observation.facts["records"], trainer_cases(seed), strict=True)]
    for run in runs:
        forwards, inside = len(run.record["student_rows"]), run.record["in_trainer"]
        measured = f"forwards of the student: {forwards}, {inside} of them in the Trainer"
        verdict = TRAINER.judge(run, "every forward of the student in one Trainer.train, with loss_function", measured)
        if verdict:
            return verdict
    return _judge(PAIRS, seed, runs, [{"weights": observation.tensors[str(index)]} for index in range(len(runs))])


def _judge(table: ReferenceTable, seed: int, runs: Sequence[Run], ends: Sequence[dict[str, Any]]) -> Verdict:
    answer = table.answer(seed, [_value(end, run.record) for end, run in zip(ends, runs, strict=True)])
    verdict = _judge_runs(MODELS, runs)
    if verdict:
        return verdict
    for name in ends[0]:
        if not answer.part(name).is_right:
            return _explain(table, answer, runs, name)
    passed = Verdict(PASSED, "", f"{len(runs)} students right; the teacher was asked once a batch and is unchanged")
    return _judge_runs(STUDENT_FORWARDS, runs) or passed


def _judge_runs(table: Table[Run], runs: Sequence[Run]) -> Verdict | None:
    right = "forwards of the teacher: {0}, in eval mode, without a graph, unchanged; of the student: {0}, in train mode"
    verdicts = (table.judge(run, right.format(run.case.updates), run.measured) for run in runs)
    return next((verdict for verdict in verdicts if verdict), None)


def _explain(table: ReferenceTable, answer: Answer, runs: Sequence[Run], name: str) -> Verdict:
    """Explain a wrong end by the first thing on the way that differs: batches, arguments of the loss, updates."""
    on_the_way = [key for key in PARTS if name == "weights" and not answer.part(key).is_right]
    for key in on_the_way[:1]:
        part = answer.part(key)
        what, otherwise = PARTS[key]
        expected, measured = f"{what} {_first(part) + 1}, as in a plain loop", "other numbers there"
        return table.explain(answer, part, expected=expected, measured=measured, otherwise=otherwise)
    end, otherwise = answer.part(name), OTHERWISE[name]
    run, (expected, measured) = runs[end.wrong[0]], map(DESCRIPTIONS[name], (end.truth, end.value))
    if name == "losses":
        return table.explain(answer, end, expected=expected, measured=measured, otherwise=otherwise)
    measured += f", and a weight off by up to {(end.value - end.truth).abs().max().item():.3g}"
    verdict = table.judge(answer, expected, measured) or UPDATES.judge(run, expected, measured)
    gradients = answer.part("gradients")
    if run.record["steps"] and not gradients.is_right:
        k = _first(gradients)
        otherwise = (
            f"Your batches and the arguments of the loss are right, but the gradient of update {k + 1} is "
            f"{gradients.value[k] / gradients.truth[k]:.4g} times as long as it should be. Look at the loss that you "
            "minimize, and at what you do with its gradient."
        )
    return verdict or Verdict(UNRECOGNISED, expected, measured, otherwise)


def _first(part: Answer) -> int:
    pairs = zip(part.value, part.truth, strict=False)
    return next((k for k, pair in enumerate(pairs) if not part.table.is_near(*pair)), 0)


def _value(end: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    return {**end, **{name: record[name] for name in ("seen", "labels", "targets", "gradients")}}


DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "weights": lambda weights: f"weights of norm {torch.linalg.vector_norm(weights).item():.6g}",
    "losses": lambda losses: f"{len(losses)} losses: " + ", ".join(f"{loss:.6g}" for loss in losses[:6]),
}
PARTS = {
    "seen": (
        "the rows that the student sees in batch",
        "You give the student other rows, or the batches in another order. Look at how you go through the data.",
    ),
    "labels": (
        "the labels that the loss receives in batch",
        "You hand the loss other labels than those of the batch. Look at its third argument.",
    ),
    "targets": (
        "the teacher's logits that the loss receives in batch",
        "You hand the loss something else than the teacher's logits of this batch. Look at its second argument: at the "
        "inputs that the teacher gets, and at what you do with its answer.",
    ),
}
OTHERWISE = {
    "weights": "Your batches and the arguments of the loss are right. Look at the update: at its rate, and at which "
    "weights it changes.",
    "losses": "The student is right, the returned list is not. Look at what you append, and when.",
}
MODELS = Table[Run](
    Misconception(
        "teacher_not_asked",
        "You never run the teacher. Its logits are the second argument of the loss.",
        shown_by=lambda run: run.asked == 0,
    ),
    Misconception(
        "teacher_trained",
        "You put the teacher's parameters into an optimizer. Give it those of the student, and keep the teacher out of "
        "the student's modules.",
        shown_by=lambda run: run.record["optimized"],
    ),
    Misconception(
        "teacher_in_train_mode",
        "You ask the teacher in train mode: batch statistics and dropout make it another teacher at each batch. "
        "Call teacher.eval().",
        shown_by=lambda run: any(run.record["modes"]),
    ),
    Misconception(
        "teacher_gets_gradients",
        "Your backward pass runs through the teacher and leaves gradients in it. Run it under no_grad.",
        shown_by=lambda run: run.record["has_gradients"],
    ),
    Misconception(
        "teacher_keeps_a_graph",
        "You run the teacher with a graph, so that all of its activations stay until its logits are detached. Run it "
        "under no_grad.",
        shown_by=lambda run: any(run.record["graphs"]),
    ),
    Misconception(
        "teacher_changed",
        "You change the teacher's weights or statistics. It only answers.",
        shown_by=lambda run: run.record["changed"],
    ),
    Misconception(
        "other_batch_size",
        "You make batches of {record[student_rows][0]} rows. They have {case.rows}: look at how you set their size.",
        shown_by=lambda run: run.record["student_rows"][:1] not in ([], [run.case.rows]),
    ),
    Misconception(
        "other_number_of_batches",
        "You train on {forwards} batches, and one pass has {case.updates}. Look at the number of passes, and at where "
        "your run ends: the last batch counts, too.",
        shown_by=lambda run: (
            min(run.asked, run.forwards) > run.case.updates or max(run.asked, run.forwards) < run.case.updates
        ),
    ),
    Misconception(
        "teacher_not_once_a_batch",
        "You run the teacher {asked} times for {case.updates} batches. Run it once for each, and keep its logits.",
        shown_by=lambda run: run.asked != run.case.updates,
    ),
    Misconception(
        "student_in_eval_mode",
        "You run the student in eval mode. Call student.train() before the loop, and eval() for the teacher alone.",
        shown_by=lambda run: not all(run.record["student_modes"]),
    ),
    Misconception(
        "loss_function_not_called",
        "You never call loss_function, and minimize a loss of your own. Call it with both logits and the labels.",
        expected="a call of loss_function for each of {case.updates} batches",
        measured="no call",
        shown_by=lambda run: not run.record["labels"],
    ),
)
STUDENT_FORWARDS = Table[Run](
    Misconception(
        "student_runs_again",
        "You run the student more often than once for each batch. Each forward costs time and moves its running "
        "statistics: keep its logits.",
        shown_by=lambda run: len(run.record["student_rows"]) > run.case.updates,
    ),
)
UPDATES = Table[Run](
    Misconception(
        "another_optimizer",
        "You update with {optimizer}. Plain SGD is asked for.",
        shown_by=lambda run: run.optimizer != "SGD",
    ),
    Misconception(
        "other_learning_rate",
        "You update at these learning rates: {rates}. Each should be {case.learning_rate:g}: look at where you set it.",
        shown_by=lambda run: any(abs(step["lr"] / run.case.learning_rate - 1) > 1e-6 for step in run.record["steps"]),
    ),
    Misconception(
        "batches_without_an_update",
        "You do not update once for each of {case.updates} batches. Clear, run backward and step in each.",
        shown_by=lambda run: len(run.record["steps"]) not in (0, run.case.updates),
    ),
    Misconception(
        "parameters_left_out",
        "You leave parameters of the student out of the optimizer. Give it all of them.",
        shown_by=lambda run: any(step["left_out"] for step in run.record["steps"]),
    ),
    Misconception(
        "update_without_a_gradient",
        "You update with gradients of 0. Look at the order of zero_grad, backward and step, and at whether the loss "
        "depends on the student.",
        shown_by=lambda run: bool(run.record["steps"]) and not any(run.record["gradients"]),
    ),
)
TRAINER = Table[Run](
    Misconception(
        "trainer_not_used",
        "You do not train the student with the Trainer. Give `student` itself to one of your subclass, and call its "
        ".train().",
        shown_by=lambda run: run.record["in_trainer"] == 0,
    ),
    Misconception(
        "compute_loss_not_overridden",
        "You run neither the teacher nor loss_function at any batch. Override the Trainer's compute_loss, by exactly "
        "this name, and call both there.",
        measured="no forward of the teacher, and no call of loss_function",
        shown_by=lambda run: not run.asked and not run.record["labels"],
    ),
)
LOSS = "loss_function(student(inputs), targets, labels)"
CLEAR = "        optimizer.zero_grad()\n"
STUDENT = ReferenceTable(
    distil,
    Misconception(
        "gradients_never_cleared",
        "You never clear the student's gradients, so each batch adds to those before it.",
        {CLEAR: ""},
    ),
    Misconception(
        "arguments_swapped",
        "You hand the loss the teacher's logits first. The student's come first.",
        {LOSS: "loss_function(targets, student(inputs), labels)"},
    ),
    Misconception(
        "teacher_softmaxed",
        "You hand the loss probabilities of the teacher. It takes logits.",
        {LOSS: "loss_function(student(inputs), targets.softmax(dim=-1), labels)"},
    ),
    Misconception(
        "losses_after_the_update",
        "You report each loss after the update. Report the one that the update was made for.",
        {"losses.append(loss.item())": "losses.append(loss_function(student(inputs), targets, labels).item())"},
    ),
    run=lambda function, case: _value(*run_distil(function, case)),
    cases=distil_cases,
    is_near=within(relative=1e-3, absolute=2e-5),
)
PAIR_LOSS = "loss_function(student(**batch).logits, targets, labels)"
PAIRS = ReferenceTable(
    train_pairs,
    Misconception(
        "arguments_swapped",
        "You hand the loss the teacher's logits first. The student's come first.",
        {PAIR_LOSS: "loss_function(targets, student(**batch).logits, labels)"},
    ),
    run=lambda function, case: _value(*run_trainer(function, case)),
    cases=trainer_cases,
    is_near=within(relative=1e-3, absolute=2e-5),
)
