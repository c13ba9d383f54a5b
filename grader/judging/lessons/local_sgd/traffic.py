"""Judges what an epoch of local SGD puts into collectives: the averages, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from grader.judging.lessons.local_sgd.evidence import Call, Epoch, evidence_of
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.local_sgd.epochs import EpochCase, epoch_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


@dataclass(frozen=True)
class Sent:
    """What one rank sent in an epoch.

    Attributes:
        epoch: The epoch.
        calls: The collectives of the rank.
        once: The bytes of one average: parameters, and floating-point buffers.
        barriers: Calls of dist.barrier.
    """

    epoch: Epoch
    calls: list[Call]
    once: int
    barriers: int

    @property
    def total(self) -> int:
        """All bytes."""
        return sum(call.byte_count for call in self.calls)

    @property
    def averages(self) -> int:
        """How many averages are right."""
        return len(self.epoch.averages)

    @property
    def excess(self) -> int:
        """The bytes beyond those of the averages."""
        return self.total - self.once * self.averages

    @property
    def times(self) -> float:
        """How many averages have so many bytes."""
        return self.total / self.once

    @property
    def at_the_start(self) -> int:
        """The bytes before the first forward."""
        return sum(call.byte_count for call in self.calls if not call.forwards)

    @property
    def at_the_end(self) -> int:
        """The bytes after the last update."""
        return sum(call.byte_count for call in self.calls if call.updates == self.epoch.updates)

    @property
    def is_final_twice(self) -> bool:
        """Whether a second average follows the last update."""
        return self.excess == self.once and self.at_the_end == 2 * self.once


def average_bytes(case: EpochCase) -> int:
    """Return the bytes of one average: parameters, and floating-point buffers."""
    model = case.make_model()
    tensors = [*model.parameters(), *(one for one in model.buffers() if one.is_floating_point())]
    return sum(one.nbytes for one in tensors)


def judge_local_sgd_traffic(observation: Observation, seed: int) -> Verdict:
    """Judge how often the ranks average in an epoch, and that they send nothing else."""
    averages = 0
    for number, case in enumerate(epoch_cases(seed)):
        epoch = Epoch(case, evidence_of(observation, number, case.world_size))
        for rank, evidence in enumerate(epoch.ranks):
            sent = Sent(epoch, evidence.calls, average_bytes(case), evidence.facts["barriers"])
            setting = f"{case.micro_batches} micro-batches, k = {case.k}, every = {case.every}, {case.optimizer}"
            expected = f"{sent.averages} averages of {sent.once:,} bytes on rank {rank} of {case.world_size}, {setting}"
            verdict = SENT.judge(sent, expected, f"{sent.total:,} bytes, {sent.times:.3g} times an average")
            if verdict:
                return verdict
        averages += sent.averages
    return Verdict(PASSED, "", f"{averages} averages on 2 and 3 ranks, and nothing else sent")


SENT = Table[Sent](
    Misconception(
        "final_average_twice",
        "You average twice after the last update, which may end a short group. If an average followed it already, "
        "the ranks agree.",
        shown_by=lambda sent: sent.is_final_twice,
    ),
    Misconception(
        "averaged_at_the_start",
        "You average before the first update. All ranks start equal.",
        shown_by=lambda sent: 0 < sent.at_the_start == sent.excess,
    ),
    Misconception(
        "other_bytes",
        "You send more or fewer bytes than an average after every `every` updates and at the end. Look at the "
        "condition before average, and for another collective.",
        shown_by=lambda sent: sent.excess != 0,
    ),
    Misconception(
        "barrier",
        "You call dist.barrier. An average waits for every rank already.",
        shown_by=lambda sent: bool(sent.barriers),
        expected="averages alone",
        measured="a barrier in addition",
    ),
)
