"""Judges 1F1B on real ranks: gradients, the order of work, what is held, and messages that cannot deadlock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.lessons.model_and_pipeline_parallel.reports import Facts, facts_of, tensors_of
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.lessons.model_and_pipeline_parallel.pipeline_ranks import BACKWARD, FORWARD, RECEIVE, SEND
from grader.lessons.model_and_pipeline_parallel.pipelines import PipelineCase, pipeline_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

NUMBER_BYTES = 4  # float32
Order = list[list[str]]  # for each rank, such as "F0"


def step_gradients(case: PipelineCase) -> list[Tensor]:
    """Return the gradient of the mean loss on each rank, computed in one process."""
    stages = [case.make_layers(rank) for rank in range(case.world_size)]
    model = nn.Sequential(*stages)
    pairs = zip(case.make_inputs(), case.make_targets(), strict=True)
    losses = [F.mse_loss(model(inputs), targets) for inputs, targets in pairs]
    loss = torch.stack(losses).sum() / case.micro_batches
    loss.backward()  # type: ignore[no-untyped-call]
    return [torch.cat([_gradient_of(one) for one in stage.parameters()]) for rank, stage in enumerate(stages)]


def _gradient_of(parameter: Tensor) -> Tensor:
    return torch.zeros(parameter.numel()) if parameter.grad is None else parameter.grad.flatten()


def order_of(rank: int, ranks: int, micro_batches: int) -> list[str]:
    """Return the forwards and backwards of a rank in order."""
    ahead = min(ranks - 1 - rank, micro_batches)
    order = []
    for step in range(micro_batches + ahead):
        if step < micro_batches:
            order.append(f"F{step}")
        if step >= ahead:
            order.append(f"B{step - ahead}")
    return order


@dataclass(frozen=True)
class Pipeline:
    """What the ranks reported of one model.

    Attributes:
        case: The setting.
        ranks: What each rank reported.
    """

    case: PipelineCase
    ranks: Sequence[Facts]

    @cached_property
    def orders(self) -> Order:
        """The forwards and backwards of each rank."""
        letters = {FORWARD: "F", BACKWARD: "B"}
        return [
            [f"{letters[kind]}{number}" for kind, number, _ in facts["events"] if kind in letters]
            for facts in self.ranks
        ]

    @cached_property
    def messages(self) -> list[list[tuple[str, int]]]:
        """What each rank sent and received, in order: the kind and the other rank."""
        return [
            [(str(kind), int(peer)) for kind, peer, _ in facts["events"] if kind in (SEND, RECEIVE)]
            for facts in self.ranks
        ]

    @property
    def size(self) -> int:
        """How many ranks."""
        return self.case.world_size

    @property
    def bounds(self) -> list[int]:
        """The most micro-batches that each rank may hold."""
        return [min(self.size - rank, self.case.micro_batches) for rank in range(self.size)]

    @property
    def most(self) -> list[int]:
        """The most micro-batches that each rank held."""
        return [int(facts["most"]) for facts in self.ranks]

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a step."""
        return self.case.micro_batches

    @property
    def kept(self) -> list[int]:
        """The most micro-batches whose backward was over and whose tensors each rank still kept."""
        return [int(facts["kept"]) for facts in self.ranks]

    def sent(self, rank: int) -> list[tuple[int, int]]:
        """Return to whom a rank sent, and how many bytes, in any order."""
        return sorted((int(peer), int(size)) for kind, peer, size in self.ranks[rank]["events"] if kind == SEND)

    def wanted(self, rank: int, number_bytes: int = NUMBER_BYTES) -> list[tuple[int, int]]:
        """Return to whom a rank has to send, and how many bytes, in any order."""
        rows, widths = self.case.rows, self.case.widths
        back = [(rank - 1, number_bytes * rows * widths[rank])] * (rank > 0)
        onward = [(rank + 1, number_bytes * rows * widths[rank + 1])] * (rank + 1 < self.size)
        return sorted((back + onward) * self.micro_batches)

    def are_sent(self, wanted: Callable[[int], list[tuple[int, int]]]) -> bool:
        """Return whether each rank sent what a function says."""
        return all(self.sent(rank) == wanted(rank) for rank in range(self.size))

    @property
    def counts(self) -> list[int]:
        """How many messages each rank sent."""
        return [len(self.sent(rank)) for rank in range(self.size)]

    @property
    def bytes(self) -> list[int]:
        """How many bytes each rank sent."""
        return [sum(size for _, size in self.sent(rank)) for rank in range(self.size)]

    @property
    def wanted_bytes(self) -> list[int]:
        """How many bytes each rank has to send."""
        return [sum(size for _, size in self.wanted(rank)) for rank in range(self.size)]

    @property
    def calls(self) -> list[str]:
        """What else the ranks asked of torch.distributed."""
        return sorted({str(name) for facts in self.ranks for name in facts["calls"]})

    @cached_property
    def waits(self) -> str:
        """Where ranks wait for each other for ever, if a send waits until it is received; "" if they never do."""
        places = [0] * self.size
        while True:
            moved = False
            for rank, messages in enumerate(self.messages):
                if places[rank] == len(messages) or messages[places[rank]][0] != SEND:
                    continue
                peer = messages[places[rank]][1]
                if 0 <= peer < self.size and self._next(peer, places) == (RECEIVE, rank):
                    places[rank], places[peer], moved = places[rank] + 1, places[peer] + 1, True
            if not moved:
                break
        waiting = [(rank, self._next(rank, places)) for rank in range(self.size)]
        said = {SEND: "to send to rank", RECEIVE: "to receive from rank"}
        return "; ".join(f"rank {rank} waits {said[call[0]]} {call[1]}" for rank, call in waiting if call)

    def _next(self, rank: int, places: Sequence[int]) -> tuple[str, int] | None:
        messages = self.messages[rank]
        return messages[places[rank]] if places[rank] < len(messages) else None

    def is_out_of_order(self) -> bool:
        """Return whether some rank runs micro-batches backward in another order than forward."""
        backwards = [[int(name[1:]) for name in order if name[0] == "B"] for order in self.orders]
        return any(numbers != sorted(numbers) for numbers in backwards)


def _pipelines_of(observation: Observation, seed: int) -> list[Pipeline]:
    cases = pipeline_cases(seed)
    return [Pipeline(case, facts_of(observation, number, case.world_size)) for number, case in enumerate(cases)]


def judge_pipeline_gradients(observation: Observation, seed: int) -> Verdict:
    """Compare the gradients of every stage with those of the whole model."""
    pipelines = _pipelines_of(observation, seed)
    answer = GRADIENTS.answer(
        seed, [tensors_of(observation, number, one.size, "gradient") for number, one in enumerate(pipelines)]
    )
    if answer.is_right:
        stages = sum(pipeline.size for pipeline in pipelines)
        return Verdict(
            PASSED, "", f"{stages} stages of {len(pipelines)} models, each with the gradient of the mean loss"
        )
    wrong = next(filter(None, map(RUNS.judge, pipelines)), None)
    if wrong:
        return wrong
    pairs = reversed(list(enumerate(zip(answer.value, answer.truth, strict=True))))  # the way of the gradients
    rank, off = next((rank, compare(*pair)) for rank, pair in pairs if not _is_equal(*pair))
    case = answer.case
    expected = f"the gradient of the mean loss on rank {rank} of {case.world_size}, {case.micro_batches} micro-batches"
    rest = f", and a rest of {off.residual:.0%} of its norm" if off.residual >= 0.005 else ""
    measured = f"{off.factor:.3g} times that gradient{rest}"
    return GRADIENTS.explain(answer, expected=expected, measured=measured, otherwise=WRONG_LOSS)


def judge_pipeline_schedule(observation: Observation, seed: int) -> Verdict:
    """Compare order and memory with 1F1B, and what was sent; replay the messages with sends that wait."""
    pipelines = _pipelines_of(observation, seed)
    answer = ORDERS.answer(seed, [pipeline.orders for pipeline in pipelines])
    if not answer.is_right:
        pairs = enumerate(zip(answer.value, answer.truth, strict=True))
        rank, found, right = next((rank, *pair) for rank, pair in pairs if pair[0] != pair[1])
        expected = f"{' '.join(right)} on rank {rank} of {answer.case.world_size}"
        missing = next(filter(None, map(RUNS.judge, pipelines)), None)
        if missing:
            return missing
        measured = " ".join(found) or "no forward and no backward"
        return ORDERS.explain(answer, expected=expected, measured=measured, otherwise=OTHER_ORDER)
    verdicts = (table.judge(pipeline) for table in (RUNS, HELD, MESSAGES) for pipeline in pipelines)
    verdict = next(filter(None, verdicts), None)
    if verdict:
        return verdict
    said, count = ", ".join(map(str, pipelines[2].most)), sum(sum(pipeline.counts) for pipeline in pipelines)
    measured = f"on 4 ranks with 6 micro-batches {said} in flight; {count} messages, in an order that cannot deadlock"
    return Verdict(PASSED, "1F1B", measured)


def _is_equal(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and compare(one, other).is_equal


def _are_equal(answer: Sequence[Tensor], value: Sequence[Tensor]) -> bool:
    return len(answer) == len(value) and all(map(_is_equal, answer, value))


WRONG_LOSS = (
    "You already have another gradient on the last rank, which receives none, by more than a factor. Look at the loss "
    "and the target of each micro-batch, and at what changes gradients between two backward passes."
)
OTHER_ORDER = (
    "You run forwards and backwards in another order than 1F1B. Write down the order of each rank for 3 ranks and 4 "
    "micro-batches, from the last rank to the first."
)
MEAN = "torch.stack(losses).sum() / case.micro_batches"
CAT = "torch.cat([_gradient_of(one) for one in stage.parameters()])"
TARGETS = "case.make_targets(), strict"
GRADIENTS = ReferenceTable(
    step_gradients,
    Misconception(
        "no_mean_over_micro_batches",
        "You leave the sum over the micro-batches, because gradients add up. Divide each loss by the number of "
        "micro-batches.",
        {MEAN: "torch.stack(losses).sum()"},
    ),
    Misconception(
        "divided_twice",
        "You divide by the number of micro-batches more than once: the gradient that a rank receives is divided "
        "already. Divide the loss only.",
        {MEAN: "torch.stack(losses).sum() / case.micro_batches**2"},
        variants=[
            {CAT: f"{CAT} / case.micro_batches ** (case.world_size - 1 - rank)"},
            {CAT: f"{CAT} / case.micro_batches ** (case.world_size - 2 - rank)"},
        ],
    ),
    Misconception(
        "divided_by_ranks",
        "You divide by the number of ranks. Each rank has other layers, not other rows: divide by the number of "
        "micro-batches.",
        {MEAN: "torch.stack(losses).sum() / case.world_size"},
        variants=[{MEAN: "torch.stack(losses).sum() / case.micro_batches / case.world_size"}],
    ),
    Misconception(
        "one_micro_batch_only",
        "You keep the gradient of one micro-batch. Gradients of all micro-batches add up: clear none in between.",
        {MEAN: "losses[-1] / case.micro_batches"},
        variants=[{MEAN: "losses[-1]"}, {MEAN: "losses[0] / case.micro_batches"}, {MEAN: "losses[0]"}],
    ),
    Misconception(
        "losses_summed_over_rows",
        "You sum the loss over rows and features. F.mse_loss takes the mean by default.",
        {MEAN: "torch.stack(losses).sum() * case.rows * case.widths[-1] / case.micro_batches"},
        variants=[{MEAN: "torch.stack(losses).sum() * case.rows * case.widths[-1]"}],
    ),
    Misconception(
        "targets_of_another_micro_batch",
        "You compare outputs with the targets of another micro-batch. Outputs come in the order of the inputs.",
        {TARGETS: "case.make_targets()[::-1], strict"},
        variants=[
            {TARGETS: "[case.make_targets()[0]] * case.micro_batches, strict"},
            {TARGETS: "[*case.make_targets()[1:], case.make_targets()[0]], strict"},
        ],
    ),
    Misconception(
        "another_loss",
        "You get a constant factor of the right gradient on the last rank, so another loss than the mean of the step. "
        "Look at its mean over rows and features, and at what divides it.",
        shown_by=lambda answer: (
            compare(answer.value[-1], answer.truth[-1]).residual <= RELATIVE_TOLERANCE
            and not _is_equal(answer.value[-1], answer.truth[-1])
        ),
    ),
    Misconception(
        "wrong_gradient_received",
        "You have the right gradient on the last rank, and then not on a rank before it. Look at what that rank "
        "receives: `hidden.grad` of the next one, whole, for its oldest micro-batch in flight.",
        shown_by=lambda answer: _is_equal(answer.value[-1], answer.truth[-1]),
    ),
    run=lambda step_gradients, case: step_gradients(case),
    cases=pipeline_cases,
    is_near=_are_equal,
)
AHEAD = "min(ranks - 1 - rank, micro_batches)"
ORDERS = ReferenceTable(
    order_of,
    Misconception(
        "gpipe_for_1f1b",
        "You run all forwards before the first backward: that is GPipe, which holds every micro-batch. In 1F1B the "
        "last rank runs each micro-batch backward at once.",
        {AHEAD: "micro_batches"},
    ),
    Misconception(
        "one_by_one",
        "You run one forward and its backward on every rank before the next micro-batch, so only one rank computes at "
        "a time. Let earlier ranks run ahead.",
        {AHEAD: "0"},
    ),
    Misconception(
        "same_lead_on_every_rank",
        "You let every rank run equally far ahead. The last rank runs none ahead, and each rank before it one more.",
        {AHEAD: "min(ranks - 1, micro_batches)"},
    ),
    Misconception(
        "one_forward_too_many_ahead",
        "You run one forward too many ahead. On the last rank each backward follows its own forward.",
        {AHEAD: "min(ranks - rank, micro_batches)"},
    ),
    run=lambda order_of, case: [order_of(rank, case.world_size, case.micro_batches) for rank in range(case.world_size)],
    cases=pipeline_cases,
)
RUNS: Table[Pipeline] = Table(
    Misconception(
        "weights_changed",
        "You change weights within the step, so later passes run with other ones. Leave the gradients; an update "
        "comes after the step.",
        shown_by=lambda pipeline: not all(facts["weights_kept"] for facts in pipeline.ranks),
        expected="the weights as they were",
        measured="other weights on some rank",
    ),
    Misconception(
        "backward_never_run",
        "You leave micro-batches without a backward on some rank. After the last forward, the micro-batches in flight "
        "have to run backward, too.",
        shown_by=lambda pipeline: any(
            sum(name[0] == "B" for name in order) < pipeline.micro_batches for order in pipeline.orders
        ),
        expected="{micro_batches} backwards on every rank",
        measured="fewer on some rank",
    ),
    Misconception(
        "micro_batches_mixed_up",
        "You run the latest micro-batch backward first, with the gradient of another one. Gradients come in the order "
        "of the forwards: take the oldest.",
        shown_by=Pipeline.is_out_of_order,
        expected="backwards in the order of the forwards",
        measured="another order",
    ),
    Misconception(
        "message_unread",
        "You send messages that nobody receives. Compare how often a rank sends with how often its neighbour receives.",
        shown_by=lambda pipeline: any(facts["unread"] for facts in pipeline.ranks),
        expected="every message received",
        measured="messages left over",
    ),
)
HELD: Table[Pipeline] = Table(
    Misconception(
        "graph_retained",
        "You keep graphs after their backward, so their activations stay in memory. Leave out retain_graph.",
        shown_by=lambda pipeline: any(one > bound for one, bound in zip(pipeline.most, pipeline.bounds, strict=True)),
        expected="at most {bounds} micro-batches in flight on the ranks",
        measured="{most}",
    ),
    Misconception(
        "finished_micro_batches_kept",
        "You keep inputs or outputs of micro-batches after their backward, so their memory is not free. Take them out "
        "of your list when you run them backward.",
        shown_by=lambda pipeline: max(pipeline.kept) > 2,  # the names of a loop may still refer to two
        expected="nothing kept of micro-batches that have run backward",
        measured="{kept} of them on the ranks",
    ),
)
MESSAGES: Table[Pipeline] = Table(
    Misconception(
        "other_communication",
        "You use torch.distributed itself. Neighbours exchange everything by send and receive.",
        shown_by=lambda pipeline: bool(pipeline.calls),
        expected="messages by send and receive only",
        measured="{calls}",
    ),
    Misconception(
        "sent_in_64_bits",
        "You send numbers in 64 bits. The activations have 32: send them as they are.",
        shown_by=lambda pipeline: pipeline.are_sent(lambda rank: pipeline.wanted(rank, 2 * NUMBER_BYTES)),
        expected="messages of 4 bytes for each number",
        measured="twice as many bytes",
    ),
    Misconception(
        "other_messages",
        "You send something else than one output to the next rank and one gradient to the rank before, for each "
        "micro-batch.",
        shown_by=lambda pipeline: not pipeline.are_sent(pipeline.wanted),
        expected="{wanted_bytes} bytes from the ranks, in activations and their gradients",
        measured="{bytes} bytes, in {counts} messages",
    ),
    Misconception(
        "sends_wait_for_each_other",
        "You let two neighbours send to each other at once. If a send waits for its receiver, as it may, both wait for "
        "ever: receive the gradient before you send the next output.",
        shown_by=lambda pipeline: bool(pipeline.waits),
        expected="an order that ends even if every send waits until it is received",
        measured="{waits}",
    ),
)
