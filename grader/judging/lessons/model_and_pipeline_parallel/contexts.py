"""Judges attention over a sequence that ranks share: partial softmaxes merged, keys and values passed round a ring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.judging.lessons.model_and_pipeline_parallel.reports import Facts, facts_of
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.model_and_pipeline_parallel.contexts import ContextCase, context_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

NUMBER_BYTES = 8  # float64


def merged_outputs(case: ContextCase) -> list[Tensor]:
    """Return the output of each rank, by merging what it sees of each share of the keys."""
    shares = [case.make_shares(rank) for rank in range(case.world_size)]
    outputs = []
    for rank, (query, _, _) in enumerate(shares):
        output, logsumexp = torch.zeros_like(query), torch.full_like(query[..., :1], -torch.inf)
        for step in range(case.world_size):
            _, key, value = shares[(rank - step) % case.world_size]
            scores = query @ key.mT * case.head_dim**-0.5
            merged = torch.logaddexp(logsumexp, scores.logsumexp(dim=-1, keepdim=True))
            output = (logsumexp - merged).exp() * output + (scores - merged).exp() @ value
            logsumexp = merged
        outputs.append(output)
    return outputs


def judge_context_parallel(observation: Observation, seed: int) -> Verdict:
    """Compare the output of every rank with attention over the whole sequence, and judge what was sent."""
    cases = context_cases(seed)
    rings = [Ring(case, facts_of(observation, number, case.world_size)) for number, case in enumerate(cases)]
    outputs = [
        [observation.tensors.get(f"{number}.{rank}.output") for rank in range(case.world_size)]
        for number, case in enumerate(cases)
    ]
    for ring, found in zip(rings, outputs, strict=True):
        wrong = FORMS.judge(Returned(ring, found))
        if wrong:
            return wrong
    answer = TABLE.answer(seed, outputs)
    if not answer.is_right:
        case = answer.case
        rank = next(n for n, pair in enumerate(zip(answer.value, answer.truth, strict=True)) if not near(*pair))
        off = float((answer.value[rank] - answer.truth[rank]).abs().max())
        expected = f"attention over all {case.time} positions on rank {rank} of {case.world_size}"
        return TABLE.explain(
            answer, answer.only(0), expected=expected, measured=f"up to {off:.2g} away", otherwise=OTHER
        )
    verdict = next(filter(None, map(RINGS.judge, rings)), None)
    return verdict or Verdict(
        PASSED, "", f"{len(cases)} sequences on 3 and 4 ranks, each key and value sent round once"
    )


@dataclass(frozen=True)
class Ring:
    """What the ranks reported of one sequence.

    Attributes:
        case: The setting.
        ranks: What each rank reported.
    """

    case: ContextCase
    ranks: Sequence[Facts]

    def bytes_of(self, rank: int) -> int:
        """Return the bytes of the key and the value of a rank."""
        _, key, value = self.case.make_shares(rank)
        return key.nbytes + value.nbytes

    @property
    def wanted(self) -> list[int]:
        """The bytes that each rank sends in a ring, in the direction that the ranks chose."""
        size, side = self.case.world_size, -1 if self.steps == {self.case.world_size - 1} else 1
        return [sum(self.bytes_of((rank - side * step) % size) for step in range(size - 1)) for rank in range(size)]

    @property
    def all_bytes(self) -> int:
        """The bytes of all shares."""
        return sum(map(self.bytes_of, range(self.case.world_size)))

    @property
    def sent(self) -> list[int]:
        """The bytes that each rank sent."""
        return [sum(int(size) for _, size in facts["sent"]) for facts in self.ranks]

    @property
    def calls(self) -> list[str]:
        """What else the ranks asked of torch.distributed."""
        return sorted({str(name) for facts in self.ranks for name in facts["calls"]})

    @property
    def steps(self) -> set[int]:
        """How far to the right the ranks sent."""
        size = self.case.world_size
        return {(int(peer) - rank) % size for rank, facts in enumerate(self.ranks) for peer, _ in facts["sent"]}

    @property
    def largest(self) -> int:
        """Elements of the largest tensor that a rank computed with."""
        return max(int(facts["largest"]) for facts in self.ranks)

    @property
    def held(self) -> int:
        """The most bytes of received messages that a rank held at once."""
        return max(int(facts["held"]) for facts in self.ranks)

    @property
    def two_shares(self) -> int:
        """The bytes of the two shares that a rank needs: one to merge and pass on, and the next one."""
        return 2 * max(self.bytes_of(rank) for rank in range(self.case.world_size))

    @property
    def bound(self) -> int:
        """Elements of the largest tensor that the merge needs: a key and a value in one message, or scores."""
        longest = max(self.case.make_shares(rank)[0].shape[1] for rank in range(self.case.world_size))
        return self.case.heads * longest * max(2 * self.case.head_dim, longest)


@dataclass(frozen=True)
class Returned:
    """The outputs of the ranks, before they are compared.

    Attributes:
        ring: What the ranks reported.
        outputs: What each returned; None where it is no tensor.
    """

    ring: Ring
    outputs: Sequence[Tensor | None]

    @property
    def forms(self) -> list[str]:
        """Their shapes and number formats."""
        return ["no tensor" if one is None else f"{list(one.shape)} {one.dtype}" for one in self.outputs]

    @property
    def wanted(self) -> list[str]:
        """The forms that they should have."""
        queries = [self.ring.case.make_shares(rank)[0] for rank in range(self.ring.case.world_size)]
        return [f"{list(one.shape)} {one.dtype}" for one in queries]


def _is_overflowing(answer: Answer) -> bool:
    """Return whether only the sequence with large scores is wrong, and has numbers that are not finite."""
    return answer.wrong == [2] and not all(bool(one.isfinite().all()) for one in answer.values[2])


def _is_multiple_for_each_query(answer: Answer) -> bool:
    ratios = [one / other for one, other in zip(answer.value, answer.truth, strict=True)]
    return all(torch.allclose(one, one[..., :1].expand_as(one), rtol=1e-6) for one in ratios)


near = within(relative=1e-9, absolute=1e-11)
OTHER = (
    "You get another output. Begin with zeros and a logsumexp of -inf, in float64 and without a mask, and write down "
    "for one query and two shares of keys what both are after each share."
)
STEPS, STEP, VALUE = "range(case.world_size):", "(rank - step)", "(scores - merged).exp() @ value"
SCALE, WEIGHED = "case.head_dim**-0.5", "(logsumexp - merged).exp() * output + (scores - merged).exp() @ value"
TABLE = ReferenceTable(
    merged_outputs,
    Misconception(
        "own_keys_only",
        "You attend over the rank's own positions only: you never merge what you receive. Take keys and values from "
        "each message.",
        {STEPS: "range(1):"},
        variants=[{"shares[(rank - step) % case.world_size]": "shares[rank]"}],
    ),
    Misconception(
        "one_share_missing",
        "You leave out one share of the keys. N shares need N merges, with N - 1 messages between them.",
        {STEPS: "range(case.world_size - 1):"},
        variants=[{STEPS: "range(1, case.world_size):"}, {STEP: "(rank - min(step, case.world_size - 2))"}],
    ),
    Misconception(
        "own_share_sent_again",
        "You send your own share in every round, so your neighbour merges it again and again. Pass on the share that "
        "you received.",
        {STEP: "(rank - min(step, 1))"},
        variants=[{STEP: "(rank + min(step, 1))"}],
    ),
    Misconception(
        "keys_and_values_exchanged",
        "You take keys for values. Receive both in the order in which they are sent.",
        {
            "= query @ key.mT": "= query @ (value if step % 2 else key).mT",
            VALUE: "(scores - merged).exp() @ (key if step % 2 else value)",
        },
        variants=[{VALUE: "(scores - merged).exp() @ key"}],
    ),
    Misconception(
        "large_scores_overflow",
        "You exponentiate the scores as they are, and large ones overflow. Subtract the largest score or the logsumexp "
        "first, as merge_share does.",
        shown_by=_is_overflowing,
        measured="NaN or infinity, only where scores are large",
    ),
    Misconception(
        "softmaxes_added",
        "You add up the outputs of the shares. Each softmax divides by its own sum: weigh them by the logsumexp.",
        {WEIGHED: "output + scores.softmax(dim=-1) @ value"},
    ),
    Misconception(
        "softmaxes_averaged",
        "You average the outputs of the shares, whatever their scores are. Weigh them by the logsumexp.",
        {WEIGHED: "output + scores.softmax(dim=-1) @ value / case.world_size"},
    ),
    Misconception(
        "old_output_not_rescaled",
        "You add a new share without making the old output smaller. The sum of the weights has grown: rescale what is "
        "there.",
        {"(logsumexp - merged).exp() * output +": "output +"},
    ),
    Misconception(
        "logsumexp_not_kept",
        "You do not keep the merged logsumexp, so earlier shares lose their weight. Keep both results of merge_share "
        "for the next share.",
        {"            logsumexp = merged\n": "            logsumexp = scores.logsumexp(dim=-1, keepdim=True)\n"},
        variants=[{"            logsumexp = merged\n": ""}],
    ),
    Misconception(
        "scaled_by_another_number",
        "You multiply the scores by another number, or by none. It is one over the square root of head_dim, the size "
        "of a query.",
        {SCALE: "1"},
        variants=[{SCALE: "case.head_dim**-1"}, {SCALE: "key.shape[1] ** -0.5"}, {SCALE: "case.time**-0.5"}],
    ),
    Misconception(
        "computed_in_float32",
        "You are as far from the right output as float32 is. Compute and send in float64, as the inputs are.",
        shown_by=lambda answer: all(
            map(within(relative=1e-4, absolute=1e-4), answer.values, answer.table.truths(answer.seed))
        ),
    ),
    Misconception(
        "weights_do_not_sum_to_one",
        "You return the right output times another number for each query, so the weights of its keys do not sum to 1. "
        "Divide by the sum over all shares; begin with zeros and a logsumexp of -inf.",
        shown_by=_is_multiple_for_each_query,
    ),
    Misconception(
        "masked",
        "You are right for the last position and wrong for earlier ones, as with a causal mask. There is no mask: "
        "every query attends to all keys.",
        shown_by=lambda answer: near(answer.value[-1][:, -1], answer.truth[-1][:, -1]),
    ),
    run=lambda merged_outputs, case: merged_outputs(case),
    cases=context_cases,
    is_near=near,
)
FORMS: Table[Returned] = Table(
    Misconception(
        "output_of_another_form",
        "You return something else than a tensor like the query. Each rank returns the output of its own queries, "
        "[heads, own positions, head_dim], in their number format.",
        shown_by=lambda returned: returned.forms != returned.wanted,
        expected="{wanted}",
        measured="{forms}",
    ),
)
RINGS: Table[Ring] = Table(
    Misconception(
        "collected_by_the_library",
        "You let torch.distributed collect keys and values. Pass them round the ring by send and receive.",
        shown_by=lambda ring: bool(ring.calls),
        expected="messages by send and receive only",
        measured="{calls}",
    ),
    Misconception(
        "one_step_too_many",
        "You send keys and values once more than needed, or leave a message unread. After N - 1 steps every rank has "
        "seen all shares.",
        shown_by=lambda ring: (
            any(facts["unread"] for facts in ring.ranks)
            or (set(ring.sent) == {ring.all_bytes} and len(ring.ranks[0]["sent"]) % ring.case.world_size == 0)
        ),
        expected="{wanted} bytes sent by the ranks",
        measured="{sent}",
    ),
    Misconception(
        "no_ring",
        "You send to other ranks than one neighbour. In a ring each rank sends to the same side in every step.",
        shown_by=lambda ring: ring.steps not in ({1}, {ring.case.world_size - 1}),
        expected="messages to one neighbour",
        measured="messages to others",
    ),
    Misconception(
        "other_bytes",
        "You send something else than keys and values, or in another number format. Each share of both goes on once in "
        "each step.",
        shown_by=lambda ring: ring.sent != ring.wanted,
        expected="{wanted} bytes sent by the ranks",
        measured="{sent}",
    ),
    Misconception(
        "whole_sequence_held",
        "You put the keys of all ranks together before one softmax. Then a rank holds the whole sequence, which is too "
        "long for it: merge share by share.",
        shown_by=lambda ring: ring.largest > ring.bound,
        expected="tensors of at most {bound} elements on a rank",
        measured="{largest}",
    ),
    Misconception(
        "shares_collected",
        "You keep every share that you receive, so in the end a rank holds the whole sequence. Merge a share, send it "
        "on, and keep only the next one.",
        shown_by=lambda ring: ring.held > ring.two_shares,
        expected="at most {two_shares} bytes of received shares held at once: one share and the next",
        measured="{held} bytes",
    ),
)
