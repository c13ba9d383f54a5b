"""Judges how often an epoch with accumulation all-reduces its gradients: once per update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.judging.lessons.data_parallel.reports import Facts, all_reduces, facts_of
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.data_parallel.accumulation import AccumulationCase, accumulation_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

LOG_BYTES = 8  # one number per micro-batch, such as its loss in float64, may be all-reduced in addition


@dataclass(frozen=True)
class EpochTraffic:
    """What one rank all-reduced in an epoch.

    Attributes:
        case: The setting.
        facts: What the rank reported.
    """

    case: AccumulationCase
    facts: Facts

    @property
    def groups(self) -> list[int]:
        """How many micro-batches of the rank each update has."""
        full, rest = divmod(self.case.micro_batches, self.case.k)
        return [self.case.k] * full + [rest] * bool(rest)

    @property
    def updates(self) -> int:
        """The updates of the rank."""
        return len(self.facts["calls"]) - 1

    @cached_property
    def times(self) -> list[float]:
        """How often the gradients were all-reduced for each update."""
        return [self._times(calls, size) for calls, size in zip(self.facts["calls"], self.groups, strict=False)]

    @property
    def is_right(self) -> bool:
        """Whether each update has one all-reduce of the gradients, and none comes after the last one."""
        after = self._times(self.facts["calls"][-1], self.case.micro_batches)
        return self.updates == len(self.groups) and self.times == [1] * self.updates and not after

    def _times(self, calls: Sequence[Sequence[Any]], micro_batches: int) -> float:
        """Return how often the gradients were all-reduced; one number per micro-batch does not count."""
        gradient_bytes = sum(parameter.nbytes for parameter in self.case.make_model().parameters())
        whole, rest = divmod(sum(all_reduces(calls)), gradient_bytes)
        return float(whole) if rest <= LOG_BYTES * micro_batches else whole + rest / gradient_bytes

    @property
    def is_every_backward(self) -> bool:
        """Whether every backward all-reduced."""
        return self.times == self.groups


def judge_data_parallel_traffic(observation: Observation, seed: int) -> Verdict:
    """Judge how often the gradients are all-reduced for each update, on every rank."""
    updates = 0
    for number, case in enumerate(accumulation_cases(seed)):
        for rank, facts in enumerate(facts_of(observation, number, case.world_size)):
            traffic = EpochTraffic(case, facts)
            expected = f"on rank {rank} of {case.world_size}, k = {case.k}, the gradients all-reduced once per update"
            times, sizes = (", ".join(f"{one:.3g}" for one in numbers) for numbers in (traffic.times, traffic.groups))
            measured = f"{times} times for the updates of {sizes} micro-batches"
            verdict = None if traffic.is_right else TRAFFIC.judge(traffic, expected, measured)
            if verdict:
                return verdict
        updates += len(traffic.groups)
    return Verdict(PASSED, "", f"{updates} updates on 2, 3 and 4 ranks, each with its gradients all-reduced once")


TRAFFIC = Table[EpochTraffic](
    Misconception(
        "other_updates",
        "You make another number of updates, so their all-reduces cannot be counted. See what the check before this "
        "one reports.",
        shown_by=lambda traffic: traffic.updates != len(traffic.groups),
        expected="one update for each group, of {groups} micro-batches",
        measured="{updates} updates",
    ),
    Misconception(
        "no_sync_not_used",
        "You all-reduce in every backward. Use model.no_sync() for all micro-batches of a group but the last.",
        shown_by=lambda traffic: traffic.is_every_backward and not traffic.facts["no_sync_called"],
    ),
    Misconception(
        "no_sync_never_entered",
        "You call model.no_sync() without entering it. It only makes a context: `with` enters it.",
        shown_by=lambda traffic: (
            traffic.is_every_backward and traffic.facts["no_sync_entered"] < traffic.facts["no_sync_called"]
        ),
    ),
    Misconception(
        "no_sync_around_backward_only",
        "You have no_sync around backward only, but the forward decides. Run model(inputs) inside of no_sync, too.",
        shown_by=lambda traffic: traffic.is_every_backward,
    ),
    Misconception(
        "short_group_always_synchronises",
        "You all-reduce in every backward of the short last group. Its last micro-batch comes before the k-th: find it "
        "by the length of the group.",
        shown_by=lambda traffic: (
            any(one > 1 for one in traffic.times)
            and all(one in (1, size) for one, size in zip(traffic.times, traffic.groups, strict=True))
        ),
    ),
    Misconception(
        "bytes_beside_gradients",
        "You all-reduce more than the gradients and one number per micro-batch. Look for another all_reduce in your "
        "loop.",
        shown_by=lambda traffic: not all(one.is_integer() for one in traffic.times),
    ),
    Misconception(
        "reduced_twice",
        "You all-reduce the gradients once more than DistributedDataParallel, which does it already. Remove your own.",
        shown_by=lambda traffic: all(one == 2 for one in traffic.times),
    ),
    Misconception(
        "synchronised_elsewhere",
        "You do not all-reduce at the last micro-batch of each group, or not only there. Look at which of them you run "
        "outside of no_sync, and for an all_reduce of your own after the last update.",
        shown_by=lambda traffic: True,
    ),
)
