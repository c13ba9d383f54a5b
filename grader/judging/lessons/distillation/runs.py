"""Judges the runs of a student: what the teacher was asked, which library trained, and where the student ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from grader.device import lesson_device
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.distillation.runs import (
    Batch,
    DistilCase,
    TrainerCase,
    distil_cases,
    run_distil,
    run_trainer,
    trainer_cases,
)
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


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
class Asked:
    """What was recorded of the teacher in one setting.

    Attributes:
        record: What `record_teacher` recorded.
        updates: Updates of a right run.
    """

    record: Mapping[str, Any]
    updates: int

    @property
    def forwards(self) -> int:
        """Forwards of the teacher."""
        return len(self.record["modes"])

    @property
    def measured(self) -> str:
        """What the three lines say of it."""
        modes = "train" if any(self.record["modes"]) else "eval"
        graphs = "with" if any(self.record["graphs"]) else "without"
        return f"{self.forwards} forwards of the teacher for {self.updates} batches, in {modes} mode, {graphs} a graph"


def judge_distilled_student(observation: Observation, seed: int) -> Verdict:
    """Judge what the teacher was asked, then the losses, then the student's weights."""
    cases = distil_cases(seed)
    verdict = _judge_teacher(observation.facts["records"], [case.batches for case in cases])
    if verdict:
        return verdict
    losses = observation.facts["losses"]
    values = [{"weights": observation.tensors[str(index)], "losses": losses[index]} for index in range(len(cases))]
    return _judge_values(STUDENT, seed, values, ("weights", "losses"))


def judge_distillation_trainer(observation: Observation, seed: int) -> Verdict:
    """Judge that the Trainer trained, then what the teacher was asked, then the student's weights."""
    records = observation.facts["records"]
    for record in records:
        measured = f"{record['forwards']} forwards of the student, {record['in_trainer']} of them in the Trainer"
        verdict = TRAINER.judge(record, "one Trainer.train for the student", measured)
        if verdict:
            return verdict
    verdict = _judge_teacher(records, [case.updates for case in trainer_cases(seed)])
    if verdict:
        return verdict
    values = [{"weights": observation.tensors[str(index)]} for index in range(len(records))]
    return _judge_values(PAIRS, seed, values, ("weights",))


def _judge_teacher(records: Sequence[Mapping[str, Any]], updates: Sequence[int]) -> Verdict | None:
    for record, count in zip(records, updates, strict=True):
        asked = Asked(record, count)
        expected = f"{count} forwards of the teacher, in eval mode, without a graph, and the same teacher at the end"
        verdict = TEACHER.judge(asked, expected, asked.measured)
        if verdict:
            return verdict
    return None


def _judge_values(table: ReferenceTable, seed: int, values: Sequence[Any], names: Sequence[str]) -> Verdict:
    answer = table.answer(seed, values)
    for name in names:
        part = answer.part(name)
        if not part.is_right:
            expected, measured = DESCRIPTIONS[name](part.truth), DESCRIPTIONS[name](part.value)
            return table.explain(answer, part, expected=expected, measured=measured, otherwise=OTHERWISE[name])
    return Verdict(PASSED, "", f"{len(values)} students right; the teacher was asked once a batch and is unchanged")


def _run_distil(function: Callable[..., Any], case: DistilCase) -> dict[str, Any]:
    return run_distil(function, case)[0]


def _run_pairs(function: Callable[..., Any], case: TrainerCase) -> dict[str, Any]:
    return run_trainer(function, case)[0]


DESCRIPTIONS: dict[str, Callable[[Any], str]] = {
    "weights": lambda weights: f"weights of norm {torch.linalg.vector_norm(weights).item():.6g}",
    "losses": lambda losses: f"{len(losses)} losses: " + ", ".join(f"{loss:.4g}" for loss in losses[:6]),
}
OTHERWISE = {
    "weights": "The teacher is asked as it should be; the student ends elsewhere. Print its loss at each batch.",
    "losses": "The student is right, the returned list is not. Look at what you append, and when.",
}
TEACHER = Table[Asked](
    Misconception(
        "teacher_not_asked",
        "You never run the teacher. Its logits are the second argument of the loss.",
        shown_by=lambda asked: asked.forwards == 0,
    ),
    Misconception(
        "teacher_in_train_mode",
        "You ask the teacher in train mode: batch statistics and dropout make it another teacher at each batch. "
        "Call teacher.eval().",
        shown_by=lambda asked: any(asked.record["modes"]),
    ),
    Misconception(
        "teacher_trained",
        "You train the teacher, too: its parameters are in an optimizer. Give it those of the student.",
        shown_by=lambda asked: asked.record["optimized"],
    ),
    Misconception(
        "teacher_gets_gradients",
        "Your backward pass runs through the teacher and leaves gradients in it. Run it under no_grad.",
        shown_by=lambda asked: asked.record["has_gradients"],
    ),
    Misconception(
        "teacher_keeps_a_graph",
        "You run the teacher with a graph, so that all of its activations stay until its logits are detached. Run it "
        "under no_grad.",
        shown_by=lambda asked: any(asked.record["graphs"]),
    ),
    Misconception(
        "teacher_changed",
        "You change the teacher's weights or statistics. It only answers.",
        shown_by=lambda asked: asked.record["changed"],
    ),
    Misconception(
        "teacher_asked_again",
        "You run the teacher more often than once for each batch. Keep its logits.",
        shown_by=lambda asked: asked.forwards > asked.updates,
    ),
    Misconception(
        "teacher_asked_too_rarely",
        "You run the teacher less often than once for each batch. Its logits belong to the batch.",
        shown_by=lambda asked: asked.forwards < asked.updates,
    ),
)
TRAINER = Table[Mapping[str, Any]](
    Misconception(
        "trainer_not_used",
        "You train without the Trainer. Make one of your subclass and call its .train().",
        shown_by=lambda record: record["in_trainer"] == 0,
    ),
    Misconception(
        "trained_in_a_loop_too",
        "You run the student outside of the Trainer as well. The Trainer writes the whole loop.",
        shown_by=lambda record: record["in_trainer"] < record["forwards"],
    ),
)
LOSS = "loss_function(student(inputs), targets, labels)"
SGD = "torch.optim.SGD(student.parameters(), lr=learning_rate)"
CLEAR = "        optimizer.zero_grad()\n"
STUDENT = ReferenceTable(
    distil,
    Misconception(
        "student_in_eval_mode",
        "You leave the student in the mode in which it came. Call student.train() before the loop.",
        {"    student.train()\n": ""},
        variants=[{"    student.train()\n": "    student.eval()\n"}],
    ),
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
        variants=[{LOSS: "loss_function(student(inputs).softmax(dim=-1), targets.softmax(dim=-1), labels)"}],
    ),
    Misconception(
        "labels_of_the_teacher",
        "You replace the labels by the teacher's classes. The loss takes both: logits of the teacher, and the labels.",
        {LOSS: "loss_function(student(inputs), targets, targets.argmax(dim=-1))"},
    ),
    Misconception(
        "teacher_ignored",
        "You train on the labels alone: the teacher answers, and its logits are not used.",
        {LOSS: "nn.functional.cross_entropy(student(inputs), labels)"},
    ),
    Misconception(
        "another_optimizer",
        "You update with AdamW. Plain SGD is asked for.",
        {SGD: SGD.replace("SGD", "AdamW")},
        variants=[{SGD: SGD.replace("SGD", "Adam")}],
    ),
    Misconception(
        "momentum_added",
        "You update with momentum. Plain SGD is asked for.",
        {SGD: "torch.optim.SGD(student.parameters(), lr=learning_rate, momentum=0.9)"},
    ),
    Misconception(
        "last_batch_left_out",
        "You leave out the last batch.",
        {"in batches:": "in batches[:-1]:"},
    ),
    Misconception(
        "losses_after_the_update",
        "You report each loss after the update. Report the one that the update was made for.",
        {"losses.append(loss.item())": "losses.append(loss_function(student(inputs), targets, labels).item())"},
    ),
    run=_run_distil,
    cases=distil_cases,
    is_near=within(relative=1e-3, absolute=2e-5),
)
PAIR_LOSS = "loss_function(student(**batch).logits, targets, labels)"
PAIR_SGD = SGD
PAIRS = ReferenceTable(
    train_pairs,
    Misconception(
        "labels_alone",
        "You train on the labels alone: the Trainer takes the model's own loss where compute_loss returns it.",
        {PAIR_LOSS: "student(**batch, labels=labels).loss"},
    ),
    Misconception(
        "arguments_swapped",
        "You hand the loss the teacher's logits first. The student's come first.",
        {PAIR_LOSS: "loss_function(targets, student(**batch).logits, labels)"},
    ),
    Misconception(
        "another_optimizer",
        "You train with AdamW, which is the Trainer's default. Pass `same_run`, or set optim to sgd.",
        {PAIR_SGD: "torch.optim.AdamW(student.parameters(), lr=learning_rate, weight_decay=0.0)"},
    ),
    Misconception(
        "other_learning_rate",
        "You train with the Trainer's default rate of 5e-5. Set learning_rate.",
        {PAIR_SGD: "torch.optim.SGD(student.parameters(), lr=5e-5)"},
    ),
    Misconception(
        "falls_linearly",
        "Your rate falls linearly, the Trainer's default. Pass `same_run`.",
        {
            "    for batch in DataLoader(dataset, batch_size=rows):\n": "    n = -(-len(dataset) // rows)\n"
            "    for i, batch in enumerate(DataLoader(dataset, batch_size=rows)):\n"
            "        optimizer.param_groups[0]['lr'] = learning_rate * (1 - i / n)\n"
        },
    ),
    Misconception(
        "last_batch_left_out",
        "You leave out the last batch, which has fewer rows. Leave dataloader_drop_last at False.",
        {"DataLoader(dataset, batch_size=rows)": "DataLoader(dataset, batch_size=rows, drop_last=True)"},
    ),
    run=_run_pairs,
    cases=trainer_cases,
    is_near=within(relative=1e-3, absolute=2e-5),
)
