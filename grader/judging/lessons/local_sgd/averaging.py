"""Judges one average: what is trained and what has fractions becomes the mean of the ranks, and is sent once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.lessons.local_sgd.evidence import RankEvidence, are_near, evidence_of, is_near, mean_of
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.local_sgd.averaging import AveragingCase, averaging_cases, vectors_of
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

Vectors = list[Tensor]  # one for each rank
PARTS = {"parameters": "trained", "buffers": "statistics"}


class Average(NamedTuple):
    """One setting: its vectors before and after, by what they hold."""

    case: AveragingCase
    ranks: Sequence[RankEvidence]
    before: dict[str, Vectors]
    after: dict[str, Vectors]

    def has_changed(self, name: str) -> bool:
        """Return whether vectors changed on some rank."""
        pairs = zip(self.before[name], self.after[name], strict=True)
        return not all(torch.equal(one, other) for one, other in pairs)

    def has(self, fact: str) -> bool:
        """Return whether some rank reported a fact."""
        return any(evidence.facts[fact] for evidence in self.ranks)


def judge_averaged_parameters(observation: Observation, seed: int) -> Verdict:
    """Compare the tensors of every rank with the means of the ranks."""
    cases = averaging_cases(seed)
    for number, case in enumerate(cases):
        ranks = evidence_of(observation, number, case.world_size)
        made = [vectors_of(case.make_model(rank)) for rank in range(case.world_size)]
        before = {name: [one[name] for one in made] for name in made[0]}
        average = Average(case, ranks, before, {name: [rank.tensors[name] for rank in ranks] for name in before})
        verdict = LEFT_ALONE.judge(average) or _judge_means(average)
        if verdict:
            return verdict
    return Verdict(PASSED, "", f"{len(cases)} models on 2 and 3 ranks, each equal to the mean on every rank")


LEFT_ALONE = Table[Average](
    Misconception(
        "parameters_replaced",
        "You put new parameters into the model, but an optimizer still holds the old ones. Write into the tensors "
        "themselves.",
        shown_by=lambda average: average.has("is_replaced"),
        expected="the same parameters, with other values",
        measured="other parameters",
    ),
    Misconception(
        "no_longer_trainable",
        "You leave parameters that cannot be trained further: requires_grad is off. Write into them under "
        "torch.no_grad().",
        shown_by=lambda average: not all(evidence.facts["is_trainable"] for evidence in average.ranks),
        expected="parameters as trainable as before",
        measured="parameters that are not",
    ),
    Misconception(
        "buffer_of_another_format",
        "You turn a buffer into another number format. A counter is an integer, and stays as it is.",
        shown_by=lambda average: average.has("other_formats"),
        expected="buffers in their number formats",
        measured="a buffer in another one",
    ),
    Misconception(
        "frozen_changed",
        "You write into frozen parameters. They are the same on every rank, and even a mean may change their last "
        "bits: leave out what has no requires_grad.",
        shown_by=lambda average: average.has_changed("frozen"),
        expected="frozen parameters as they were",
        measured="other values",
    ),
    Misconception(
        "counters_changed",
        "You change counters or masks, which have no mean. Average a buffer only if is_floating_point().",
        shown_by=lambda average: average.has_changed("counts"),
        expected="counters and masks as they were",
        measured="other values",
    ),
    Misconception(
        "gradients_changed",
        "You change gradients. Write the mean into the parameter itself, and leave its .grad as it is.",
        shown_by=lambda average: average.has_changed("gradients"),
        expected="gradients as they were",
        measured="other gradients",
    ),
)


@dataclass(frozen=True)
class Means:
    """How tensors relate to the means that they ought to be.

    Attributes:
        what: What they are.
        average: The setting.
        reached: The ranks that hold the means.
        factor: How many times the mean every rank holds; 0 if it is no multiple.
        wrong: The names of those that are no means.
        are_own: Whether these hold each rank's own values.
        are_all_own: Whether all tensors do.
        is_one_rank: Whether every rank holds the values of one rank.
    """

    what: str
    average: Average
    reached: list[int]
    factor: float
    wrong: list[str]
    are_own: bool
    are_all_own: bool
    is_one_rank: bool

    @property
    def size(self) -> int:
        """How many ranks."""
        return self.average.case.world_size

    @property
    def names(self) -> str:
        """The names of those that are no means, to be read."""
        return ", ".join(self.wrong)


def _judge_means(average: Average) -> Verdict | None:
    model: nn.Module = average.case.make_model(0)
    trained = {name: one.numel() for name, one in model.named_parameters() if one.requires_grad}
    buffers = {name: one.numel() for name, one in model.named_buffers() if one.is_floating_point()}
    for what, sizes in (("parameters", trained), ("buffers", buffers)):
        means = _compare(average, what, sizes)
        if len(means.reached) < means.size:
            expected = f"{what}: the mean over {means.size} ranks, on each of them"
            return MEANS.explain(means, expected=expected, measured="other values", otherwise=OTHERWISE.format(means))
    return None


def _compare(average: Average, what: str, sizes: dict[str, int]) -> Means:
    before, after = (vectors[PARTS[what]] for vectors in (average.before, average.after))
    size, mean = len(before), mean_of(before)
    factor = compare(after[0], mean).factor if mean.numel() else 1.0
    is_multiple = are_near(after, [factor * mean] * size)
    parts = zip(sizes, *(torch.split(vector, list(sizes.values())) for vector in (mean, *before, *after)), strict=True)
    wrong = {name: own for name, right, *own in parts if not are_near(own[size:], [right] * size)}
    return Means(
        what,
        average,
        [rank for rank, one in enumerate(after) if is_near(one, mean)],
        factor if is_multiple else 0.0,
        list(wrong),
        all(are_near(own[size:], own[:size]) for own in wrong.values()),
        are_near(after, before),
        any(are_near(after, [other] * size) for other in before),
    )


OTHERWISE = (
    "You leave other values than the mean in {0.names}. Look at what you add, at what you divide by, and at the "
    "number format."
)
MEANS = Table[Means](
    Misconception(
        "not_waited_for",
        "You do not wait for your all-reduces. async_op=True returns a handle: call its wait().",
        shown_by=lambda means: means.average.has("unwaited"),
    ),
    Misconception(
        "buffers_forgotten",
        "You leave out the buffers. Running statistics drift apart, too: average those that are floating-point.",
        shown_by=lambda means: means.what == "buffers" and means.are_all_own,
        measured="each rank's own values",
    ),
    Misconception(
        "copy_averaged",
        "You average copies, and the model keeps each rank's own values. Give all_reduce the tensor itself, or copy "
        "the mean back into it.",
        shown_by=lambda means: means.are_all_own and any(evidence.placed for evidence in means.average.ranks),
        measured="each rank's own values",
    ),
    Misconception(
        "nothing_averaged",
        "You leave each rank with its own {what}. Average them over the ranks.",
        shown_by=lambda means: means.are_all_own,
        measured="each rank's own values",
    ),
    Misconception(
        "one_rank_copied",
        "You copy the {what} of one rank to all, as a broadcast does. Take the mean over all ranks.",
        shown_by=lambda means: means.is_one_rank,
        measured="the values of one rank alone",
    ),
    Misconception(
        "some_ranks_only",
        "You leave the mean of the {what} on some ranks only. Every rank needs the sum, and divides it.",
        shown_by=lambda means: bool(means.reached),
        measured="the mean on the ranks {reached} only",
    ),
    Misconception(
        "wrong_divisor",
        "You leave {factor:.4g} times the mean of the {what}. Divide the sum by the number of ranks, "
        "dist.get_world_size(), once, and write the quotient into the tensor.",
        shown_by=lambda means: bool(means.factor),
        measured="exactly {factor:.4g} times the mean",
    ),
    Misconception(
        "some_left_out",
        "You leave out {names}: each rank keeps its own. Look at the condition that chooses the tensors.",
        shown_by=lambda means: means.are_own,
    ),
)


@dataclass(frozen=True)
class Sent:
    """What one rank put into the collectives of an average.

    Attributes:
        wanted: The bytes of what is averaged.
        reduced: The bytes of all all-reduces.
        others: The other collectives.
        tied: The bytes of the tied weight.
        frozen: The bytes of the frozen parameters.
        barriers: Calls of dist.barrier.
    """

    wanted: int
    reduced: int
    others: list[str]
    tied: int
    frozen: int
    barriers: int

    @property
    def excess(self) -> int:
        """The bytes of all-reduces beyond those of what is averaged."""
        return self.reduced - self.wanted


def judge_averaged_bytes(observation: Observation, seed: int) -> Verdict:
    """Judge the bytes of one average on every rank."""
    total = 0
    for number, case in enumerate(averaging_cases(seed)):
        for rank, evidence in enumerate(evidence_of(observation, number, case.world_size)):
            sent = _sent(case, evidence)
            what = "each trained parameter and each floating-point buffer, once"
            expected = f"all-reduces of {sent.wanted:,} bytes on rank {rank} of {case.world_size}: {what}"
            verdict = SENT.judge(sent, expected, f"all-reduces of {sent.reduced:,} bytes")
            if verdict:
                return verdict
            total += sent.reduced
    return Verdict(PASSED, "", f"{format_bytes(total)} in all averages of all ranks: each tensor once")


def _sent(case: AveragingCase, evidence: RankEvidence) -> Sent:
    model = case.make_model(0)
    nbytes = {name: one.nbytes for name, one in vectors_of(model).items()}
    return Sent(
        nbytes["trained"] + nbytes["statistics"],
        sum(int(byte_count) for name, byte_count in evidence.placed if name == "all_reduce"),
        sorted({str(name) for name, _ in evidence.placed} - {"all_reduce"}),
        dict(model.named_parameters())["2.weight"].nbytes if case.is_tied else 0,
        nbytes["frozen"],
        evidence.facts["barriers"],
    )


SENT = Table[Sent](
    Misconception(
        "other_collectives",
        "You use other collectives than all_reduce. One all-reduce for each tensor is enough.",
        shown_by=lambda sent: bool(sent.others),
        measured="{reduced:,} bytes in all-reduces, and other collectives: {others}",
    ),
    Misconception(
        "tied_weight_sent_twice",
        "You send the tied weight once for each of its names. model.parameters() gives it once.",
        shown_by=lambda sent: 0 < sent.tied == sent.excess,
    ),
    Misconception(
        "frozen_sent",
        "You send frozen weights, which are the same on every rank. Leave out what has no requires_grad.",
        shown_by=lambda sent: 0 < sent.frozen == sent.excess,
    ),
    Misconception(
        "other_bytes",
        "You send more or fewer bytes than the averaged tensors have: look for one that is missing, sent twice, or in "
        "another number format. One all-reduce per tensor, in float32, is enough.",
        shown_by=lambda sent: sent.excess != 0,
    ),
    Misconception(
        "barrier",
        "You call dist.barrier. An all-reduce waits for every rank already.",
        shown_by=lambda sent: bool(sent.barriers),
        expected="averages alone",
        measured="a barrier in addition",
    ),
)
