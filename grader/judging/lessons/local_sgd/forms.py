"""Judges Accelerate's LocalSGD: used as taught, equal to local SGD by hand, and no more bytes than its averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.judging.lessons.local_sgd.epochs import judge_epoch
from grader.judging.lessons.local_sgd.evidence import Epoch, RankEvidence, evidence_of
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.local_sgd.epochs import EpochCase, accelerated_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LOOK_AT = {
    "gradients_averaged": "You let the prepared model all-reduce its gradients. Put LocalSGD around the whole loop: "
    "it switches that off.",
    "gradient_not_averaged": "You do not divide by k. Call accelerator.backward(loss), which does, and not "
    "loss.backward().",
    "gradient_divided_twice": "You divide by k, but accelerator.backward does so already.",
    "update_every_micro_batch": "You update after every micro-batch. Give gradient_accumulation_steps=k to the "
    "Accelerator, and enter accelerator.accumulate(model).",
    "all_rows_on_every_rank": "You run all rows on every rank. A prepared loader shares them out.",
    "other_inputs": "You run other micro-batches than those of the dataset. Its rows are in order: do not shuffle.",
    "other_weights": "You use another optimizer or learning rate. Make SGD with learning_rate, and step once per "
    "update.",
    "cleared_within_group": "You clear the gradients within a group. zero_grad() of the prepared optimizer waits for "
    "its last micro-batch if it follows step().",
}


@dataclass(frozen=True)
class Use:
    """How one rank used Accelerate.

    Attributes:
        case: The setting.
        evidence: What the rank reported.
    """

    case: EpochCase
    evidence: RankEvidence

    @property
    def library(self) -> Mapping[str, Sequence[Any]]:
        """The calls of Accelerate."""
        library: Mapping[str, Sequence[Any]] = self.evidence.facts["library"]
        return library

    @property
    def made(self) -> Sequence[Sequence[int]]:
        """Of each LocalSGD its steps between two averages, whether it is enabled, and the calls of step()."""
        made: Sequence[Sequence[int]] = self.evidence.facts["local_sgd"]
        return made

    @property
    def forwards(self) -> int:
        """How many forwards there were."""
        return len(self.evidence.facts["forward_rows"])

    @property
    def rows(self) -> list[int]:
        """The rows of forwards that have not those of a micro-batch."""
        return [int(rows) for rows in self.evidence.facts["forward_rows"] if rows != self.case.rows]

    @property
    def steps(self) -> int:
        """local_sgd_steps."""
        return int(self.made[0][0])

    @property
    def calls(self) -> int:
        """How often step() was called."""
        return int(self.made[0][2])

    @property
    def wanted(self) -> int:
        """Micro-batches between two averages."""
        return self.case.k * self.case.every

    @property
    def is_counting(self) -> bool:
        """Whether step() is called for each micro-batch, or for each update, with a number that fits."""
        updates = self.case.micro_batches // self.case.k
        return (self.calls, self.steps) in ((updates, self.case.every), (self.case.micro_batches, self.wanted))

    def are_apart(self, micro_batches: float) -> bool:
        """Return whether so many micro-batches are between two averages."""
        return self.steps * self.case.micro_batches == micro_batches * self.calls

    @property
    def sent(self) -> int:
        """The bytes that the rank put into collectives."""
        return sum(call.byte_count for call in self.evidence.calls if call.name == "all_reduce")

    @property
    def most(self) -> int:
        """The bytes of the averages, with the one on exit."""
        once = sum(parameter.nbytes for parameter in self.case.make_model().parameters())
        return once * (len(Epoch(self.case, [self.evidence]).averages) + 1)


def judge_local_sgd_accelerate(observation: Observation, seed: int) -> Verdict:
    """Judge the use of Accelerate, then every update and average, then the bytes."""
    cases = accelerated_cases(seed)
    evidence = [evidence_of(observation, number, case.world_size) for number, case in enumerate(cases)]
    uses = [Use(case, one) for case, ranks in zip(cases, evidence, strict=True) for one in ranks]
    verdict = next(filter(None, map(USES.judge, uses)), None)
    for case, ranks in zip(cases, evidence, strict=True):
        verdict = verdict or judge_epoch(Epoch(case, ranks))
    verdict = verdict or next(filter(None, map(BYTES.judge, uses)), None)
    if verdict:
        return replace(verdict, look_at=LOOK_AT.get(verdict.code, verdict.look_at))
    updates = sum(case.micro_batches // case.k for case in cases)
    sent = f"{uses[0].sent:,} bytes put into {len(Epoch(cases[0], evidence[0]).averages)} averages and the one on exit"
    return Verdict(PASSED, "", f"{updates} updates on 2 and 3 ranks, averages in their places; {sent}")


EXPECTED = "model and optimizer prepared, accelerator.backward, and a LocalSGD around the loop"
AVERAGES = "an average after {case.every} updates of {case.k} micro-batches"
COUNTED = "local_sgd_steps = {steps}, and {calls} calls of step() for {case.micro_batches} micro-batches"
USES = Table[Use](
    Misconception(
        "accelerator_not_used",
        "You do not use Accelerate. Prepare model, optimizer and loader, and call accelerator.backward.",
        shown_by=lambda use: not use.library["prepared"] and not use.library["backward"],
        expected=EXPECTED,
        measured="nothing prepared",
    ),
    Misconception(
        "model_not_prepared",
        "You do not prepare the model. Give it to accelerator.prepare.",
        shown_by=lambda use: "model" not in use.library["prepared"],
        expected=EXPECTED,
        measured="no model prepared",
    ),
    Misconception(
        "optimizer_not_prepared",
        "You do not prepare the optimizer, so its steps do not wait for a group. Give it to accelerator.prepare.",
        shown_by=lambda use: "optimizer" not in use.library["prepared"],
        expected=EXPECTED,
        measured="no optimizer prepared",
    ),
    Misconception(
        "accelerator_backward_not_used",
        "You call loss.backward(), which bypasses Accelerate. Call accelerator.backward(loss).",
        shown_by=lambda use: len(use.library["backward"]) < use.forwards,
        expected=EXPECTED,
        measured="{forwards} forwards, and fewer calls of accelerator.backward",
    ),
    Misconception(
        "other_rows",
        "You give a forward another number of rows. Look at the batch size of the loader: it is that of one rank.",
        shown_by=lambda use: bool(use.rows),
        expected="forwards of {case.rows} rows",
        measured="forwards of {rows} rows",
    ),
    Misconception(
        "local_sgd_not_used",
        "You do not use LocalSGD. Import it from accelerate.local_sgd, and enter it around the loop.",
        shown_by=lambda use: not use.made,
        expected=EXPECTED,
        measured="no LocalSGD was made",
    ),
    Misconception(
        "local_sgd_made_again",
        "You make a LocalSGD more than once. A single one around the whole loop counts in it.",
        shown_by=lambda use: len(use.made) > 1,
        expected=EXPECTED,
        measured="several of them on a rank",
    ),
    Misconception(
        "local_sgd_disabled",
        "You switch LocalSGD off. Leave enabled at True.",
        shown_by=lambda use: not use.made[0][1],
        expected=EXPECTED,
        measured="a LocalSGD that is not enabled",
    ),
    Misconception(
        "step_not_called",
        "You never call local_sgd.step(), so LocalSGD cannot count. Call it for each micro-batch, or for each update.",
        shown_by=lambda use: not use.calls,
        expected=AVERAGES,
        measured="local_sgd.step() was not called",
    ),
    Misconception(
        "micro_batches_counted",
        "You count micro-batches where `every` counts updates: step() counts its own calls. Average after k * every of "
        "them.",
        shown_by=lambda use: not use.is_counting and use.are_apart(use.case.every),
        expected=AVERAGES,
        measured=COUNTED,
    ),
    Misconception(
        "multiplied_by_k_too",
        "You call step() for each update, and multiply by k in addition. One of them is enough.",
        shown_by=lambda use: not use.is_counting and use.are_apart(use.case.k * use.wanted),
        expected=AVERAGES,
        measured=COUNTED,
    ),
    Misconception(
        "averaged_one_too_late",
        "You average one update or one call too late. step() counts from 1.",
        shown_by=lambda use: not use.is_counting and any(map(use.are_apart, (use.wanted + use.case.k, use.wanted + 1))),
        expected=AVERAGES,
        measured=COUNTED,
    ),
    Misconception(
        "divided_by_k",
        "You divide `every` by k. One update is k calls of step(), so `every` updates are k * every calls.",
        shown_by=lambda use: not use.is_counting and use.are_apart(max(1, use.case.every // use.case.k)),
        expected=AVERAGES,
        measured=COUNTED,
    ),
    Misconception(
        "other_steps",
        "You average after another number of updates. Multiply out how many calls of step() are between two averages.",
        shown_by=lambda use: not use.is_counting and use.forwards == use.case.micro_batches,
        expected=AVERAGES,
        measured=COUNTED,
    ),
)
BYTES = Table[Use](
    Misconception(
        "more_sent",
        "You send more than the averages. Look for another collective, or for gradients that are all-reduced as well.",
        shown_by=lambda use: use.sent > use.most,
        expected="at most {most} bytes put into averages",
        measured="{sent} bytes",
    ),
)
