"""Judges data parallel training by hooks: the mean gradient after every backward, and buckets that overlap with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.kept import keep_cases
from grader.judging.lessons.data_parallel.reports import Facts, facts_of, tensors_of_rank
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.judging.vectors import gradient_at
from grader.lessons.data_parallel.hooks import LEARNING_RATE, HooksCase, hooks_cases
from grader.lessons.data_parallel.overlap import BLOCKING, END, OTHER, READY, START, WAIT
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Starts = list[list[int]]  # of each all-reduce how many gradients were ready when it was started, and its bytes
AFTER = -1  # in place of a number of gradients: after backward
LARGEST_ROUNDING = 0.01  # bf16 has 8 significant bits, so each number is off by at most 0.4 %


class Update(NamedTuple):
    """A right update: the gradient of each rank's own rows, their mean, and the weights after it."""

    own: list[Tensor]
    mean: Tensor
    weights: Tensor


def judge_synchronised_gradients(observation: Observation, seed: int) -> Verdict:
    """Compare gradients and weights of every rank with one process that has all rows."""
    cases = hooks_cases(seed)
    for number, case in enumerate(cases):
        facts = facts_of(observation, number, case.world_size)
        ranks = [tensors_of_rank(observation, number, rank) for rank in range(case.world_size)]
        verdict = LIBRARY.judge(facts) or _judge_updates(case, ranks, facts)
        if verdict:
            return verdict
    updates = sum(len(right_updates(case)) for case in cases)
    measured = f"{updates} updates on 2, 3 and 4 ranks, each with the gradient of all rows on every rank"
    return Verdict(PASSED, "the gradient of all rows on every rank", measured)


def judge_synchronised_overlap(observation: Observation, seed: int) -> Verdict:
    """Compare when which buckets were sent with the rule of the contract, in every backward of every rank."""
    seen: list[list[Starts]] = []
    if any(facts["stopped"] for ranks in observation.facts["settings"] for facts in ranks):
        return judge_synchronised_gradients(observation, seed)
    for number, case in enumerate(hooks_cases(seed)):
        for rank, facts in enumerate(facts_of(observation, number, case.world_size)):
            backwards = [Backward(events, case.bucket_bytes) for events in facts["events"]]
            for update, backward in enumerate(backwards):
                place = f"backward {update + 1} on rank {rank} of {case.world_size}"
                verdict = BACKWARDS.judge(backward, f"all-reduces that {place} starts and does not wait for")
                if verdict:
                    return verdict
            if rank == 0:
                seen.append([backward.starts for backward in backwards])
            elif [backward.starts for backward in backwards] != seen[-1]:
                look_at = "You send other buckets on other ranks. Every rank has to make the same all-reduces."
                return Verdict("ranks_send_differently", "the same buckets on every rank", f"others on {rank}", look_at)
    answer = BUCKETS.answer(seed, seen)
    if answer.is_right:
        sent = [start for backwards in seen for starts in backwards for start in starts]
        early = sum(number != AFTER for number, _ in sent)
        measured = f"{len(sent)} all-reduces in 9 backwards, {early} of them started while backward ran"
        return Verdict(PASSED, "full buckets sent during backward", measured)
    expected, measured = (f"of {answer.case.bucket_bytes} bytes: {_say(part)}" for part in (answer.truth, answer.value))
    return BUCKETS.explain(answer, expected=expected, measured=measured, otherwise=OTHERWISE)


OTHERWISE = (
    "You send other buckets than the contract asks for, or at other moments. Follow three gradients on paper: what is "
    "in the bucket after each, and when is it sent?"
)


def _say(backwards: Sequence[Starts]) -> str:
    sent = [
        f"{size} bytes {'after backward' if ready == AFTER else f'after gradient {ready}'}"
        for ready, size in backwards[0]
    ]
    return ", ".join(sent[:6]) or "nothing sent"


@keep_cases
def right_updates(case: HooksCase) -> tuple[Update, ...]:
    """Train on the rows of all ranks in one process, from the weights of rank 0."""
    model, updates = case.make_model(0), []
    batches = [case.make_batches(rank) for rank in range(case.world_size)]
    weights = nn.utils.parameters_to_vector(model.parameters()).detach()
    trained = torch.cat([torch.full((p.numel(),), float(p.requires_grad)) for p in model.parameters()])
    model.requires_grad_(True)
    for update, order in enumerate(case.orders):
        model.order = order
        own = [_gradient(model, weights, of_rank[update]) * trained for of_rank in batches]
        mean = torch.stack(own).mean(dim=0)
        weights = weights - LEARNING_RATE * mean
        updates.append(Update(own, mean, weights))
    return tuple(updates)


def _gradient(model: nn.Module, weights: Tensor, batch: tuple[Tensor, Tensor]) -> Tensor:
    return gradient_at(model, lambda _: F.mse_loss(model(batch[0]), batch[1]), weights, 0)


@dataclass(frozen=True)
class WrongGradient:
    """The first gradient of a rank that is not the mean.

    Attributes:
        case: The setting.
        events: What happened on the rank in each backward.
        unwaited: All-reduces of the rank that were never waited for.
        number: Which update.
        own: The gradient of the rank's own rows.
        mean: The right gradient.
        seen: The gradient after `finish`.
    """

    case: HooksCase
    events: Sequence[Sequence[Any]]
    unwaited: int
    number: int
    own: Tensor
    mean: Tensor
    seen: Tensor

    @property
    def world_size(self) -> int:
        """How many ranks."""
        return self.case.world_size

    def count(self, *kinds: str) -> int:
        """Return how often something happened in this backward and its finish."""
        return sum(kind in kinds for kind, _ in self.events[self.number])

    def bytes_of(self, *kinds: str) -> int:
        """Return the bytes of something that happened in this backward and its finish."""
        return sum(int(size) for kind, size in self.events[self.number] if kind in kinds)

    def is_near(self, wanted: Tensor) -> bool:
        """Return whether it is another gradient."""
        return compare(self.seen, wanted).is_equal

    @cached_property
    def is_partly_own(self) -> bool:
        """Whether each number is the mean, or the rank's own."""
        close = [(self.seen - one).abs() <= 1e-5 * self.mean.abs().max() for one in (self.own, self.mean)]
        return bool((close[0] | close[1]).all())

    @property
    def factor(self) -> float:
        """How many times the mean it is; 0 where it is no multiple of it."""
        comparison = compare(self.seen, self.mean)
        return comparison.factor if comparison.is_multiple(comparison.factor) else 0.0


def _judge_updates(case: HooksCase, ranks: Sequence[dict[str, Tensor]], facts: Sequence[Facts]) -> Verdict | None:
    for number, update in enumerate(right_updates(case)):
        for rank, tensors in enumerate(ranks):
            expected = (
                f"after finish in update {number + 1} on rank {rank} of {case.world_size}, the mean over all ranks"
            )
            events = facts[rank]["events"]
            verdict = WAITS.judge(events[number : number + 1], expected) or _judge_stop(facts[rank], number, expected)
            if verdict:
                return verdict
            seen = tensors[f"gradient.{number}"]
            if not compare(seen, update.mean).is_equal:
                unwaited = int(facts[rank]["unwaited"])
                wrong = WrongGradient(case, events, unwaited, number, update.own[rank], update.mean, seen)
                off = compare(seen, update.mean)
                measured = f"{off.factor:.3g} times that gradient, and {off.residual:.0%} of it elsewhere"
                return GRADIENTS.explain(wrong, expected=expected, measured=measured, otherwise=OTHER_GRADIENT)
            if not compare(tensors[f"weights.{number + 1}"], update.weights).is_equal:
                look_at = "You change the weights. The optimizer does that, after finish."
                return Verdict("weights_changed", expected, f"other weights on rank {rank}", look_at)
    return None


def _judge_stop(facts: Facts, number: int, expected: str) -> Verdict | None:
    """Return the verdict on a backward that ended with an exception."""
    if number < len(facts["events"]):
        return None
    look_at = (
        "You use the gradient of a parameter that has none in this backward, because the loss does not reach it. Take "
        "only the parameters whose hooks were called."
    )
    return Verdict("gradient_missing", expected, str(facts["stopped"]), look_at)


def _is_waiting_again(events: Sequence[Sequence[Any]]) -> bool:
    """Return whether finish waits more often than all-reduces were started."""
    kinds = [kind for kind, _ in events]
    return kinds[kinds.index(END) :].count(WAIT) > kinds.count(START) if END in kinds else False


WAITS: Table[Sequence[Sequence[Sequence[Any]]]] = Table(
    Misconception(
        "old_all_reduces_kept",
        "You wait for all-reduces of an earlier backward again, and unpack them once more. Forget them when they have "
        "arrived.",
        shown_by=lambda backwards: any(map(_is_waiting_again, backwards)),
        measured="more waits than all-reduces",
    ),
)
OTHER_GRADIENT = "You end with another gradient. Look at what your functions write into parameter.grad, and when."
LIBRARY: Table[Sequence[Facts]] = Table(
    Misconception(
        "ddp_used",
        "You make a DistributedDataParallel. Write the hooks yourself: the model is called without a wrapper.",
        shown_by=lambda facts: any(fact["ddp_made"] for fact in facts),
        expected="data parallel by hooks",
        measured="a DistributedDataParallel was made",
    ),
    Misconception(
        "parameters_changed",
        "You add, remove or reshape a parameter. Write into the gradients that are there.",
        shown_by=lambda facts: any(fact["parameters_changed"] for fact in facts),
        expected="the parameters of the model, by name and shape",
        measured="others",
    ),
    Misconception(
        "function_replaced",
        "You replace a function of PyTorch, for every model of the process. Use the hooks that are registered for you.",
        shown_by=lambda facts: any(fact["replaced"] for fact in facts),
        expected="the functions of PyTorch as they were",
        measured="another function",
    ),
)
GRADIENTS: Table[WrongGradient] = Table(
    Misconception(
        "gradient_not_finite",
        "You leave NaN or infinity in a gradient. Look for a division by zero, or memory that was never written.",
        shown_by=lambda wrong: not bool(torch.isfinite(wrong.seen).all()),
        measured="NaN or infinity",
    ),
    Misconception(
        "nothing_synchronised",
        "You start no all-reduce. A full bucket is sent by dist.all_reduce(flat, async_op=True).",
        shown_by=lambda wrong: not wrong.count(START, BLOCKING, OTHER),
        measured="no collective",
    ),
    Misconception(
        "all_reduce_not_waited_for",
        "You use the result of an all-reduce before it has arrived. Call wait() of its handle first, and change the "
        "tensor only then.",
        shown_by=lambda wrong: wrong.unwaited > 0,
        measured="{unwaited} all-reduces that nobody waited for",
    ),
    Misconception(
        "open_bucket_left_behind",
        "You never send the gradients that are in the open bucket when backward ends. finish sends them: a count of "
        "parameters cannot, because a backward may leave some out.",
        shown_by=lambda wrong: wrong.is_partly_own and wrong.bytes_of(START, BLOCKING) < wrong.bytes_of(READY),
        measured="its own gradient of what was not sent",
    ),
    Misconception(
        "sums_not_put_back",
        "You all-reduce buckets, but .grad still holds this rank's own gradient: a bucket is a copy. Unpack each one.",
        shown_by=lambda wrong: wrong.is_partly_own,
        measured="its own gradient, in part at least",
    ),
    Misconception(
        "gradients_summed",
        "You leave the sum over the ranks, because an all-reduce adds. Divide it by the number of ranks, once it has "
        "arrived.",
        shown_by=lambda wrong: wrong.is_near(wrong.world_size * wrong.mean),
        measured="{world_size} times that gradient",
    ),
    Misconception(
        "divided_not_reduced",
        "You divide this rank's own gradient by the number of ranks. Unpack what the all-reduce has written.",
        shown_by=lambda wrong: wrong.is_near(wrong.own / wrong.world_size),
        measured="its own gradient, divided by {world_size}",
    ),
    Misconception(
        "divided_twice",
        "You divide by the number of ranks twice. Once is enough.",
        shown_by=lambda wrong: wrong.is_near(wrong.mean / wrong.world_size),
        measured="1 / {world_size} of that gradient",
    ),
    Misconception(
        "divided_by_another_number",
        "You divide by a number that is not the number of ranks. Use dist.get_world_size().",
        shown_by=lambda wrong: wrong.factor > 0,
        measured="{factor:.4g} times that gradient",
    ),
    Misconception(
        "gradient_rounded",
        "You round the gradient: it is all-reduced in a number format with fewer digits. Send it in its own.",
        shown_by=lambda wrong: compare(wrong.seen, wrong.mean).relative_error < LARGEST_ROUNDING,
        measured="a gradient that is off by less than 1 %",
    ),
)


@dataclass(frozen=True)
class Backward:
    """What happened on one rank from the start of a backward to the end of its finish.

    Attributes:
        events: What happened, in order, with its bytes.
        bucket_bytes: A bucket is full when it holds so many.
    """

    events: Sequence[Sequence[Any]]
    bucket_bytes: int

    @cached_property
    def kinds(self) -> list[str]:
        """What happened, in order."""
        return [str(kind) for kind, _ in self.events]

    @property
    def during(self) -> list[str]:
        """What happened before backward ended."""
        return self.kinds[: self.kinds.index(END)]

    @cached_property
    def starts(self) -> Starts:
        """The all-reduces; one of an open bucket at the last gradient counts as made after backward."""
        ready, starts, last = 0, [], self.kinds.count(READY)
        for kind, size in self.events:
            if kind == READY:
                ready += 1
            elif kind == END:
                ready = AFTER
            elif kind in (START, BLOCKING):
                starts.append([AFTER if ready == last and size < self.bucket_bytes else ready, int(size)])
        return starts


BACKWARDS: Table[Backward] = Table(
    Misconception(
        "other_collectives",
        "You use other collectives than all_reduce, or others in addition. One all-reduce for each bucket is enough.",
        shown_by=lambda backward: OTHER in backward.kinds,
        measured="another collective",
    ),
    Misconception(
        "all_reduce_blocks",
        "You stop backward until the all-reduce has ended. async_op=True starts it and goes on.",
        shown_by=lambda backward: BLOCKING in backward.during,
        measured="an all-reduce without async_op=True in backward",
    ),
    Misconception(
        "waited_in_backward",
        "You wait for an all-reduce inside a hook, so backward stands still until it has ended. Wait in finish.",
        shown_by=lambda backward: WAIT in backward.during,
        measured="a wait() before backward ended",
    ),
)


def bucket_starts(ready: Sequence[int], bucket_bytes: int) -> Starts:
    """Return which buckets are sent when, for gradients that become ready in this order."""
    starts, held = [], 0
    for number, gradient_bytes in enumerate(ready, start=1):
        held += gradient_bytes
        if held >= bucket_bytes:
            starts.append([number, held])
            held = 0
    if held:
        starts.append([AFTER, held])
    return starts


@keep_cases
def ready_bytes(case: HooksCase) -> list[list[int]]:
    """Run the backwards of rank 0, and return the bytes of the gradients in the order in which they become ready."""
    model, orders = case.make_model(0), []
    for order, (inputs, targets) in zip(case.orders, case.make_batches(0), strict=True):
        model.order, seen = order, list[int]()
        hooks = [
            one.register_post_accumulate_grad_hook(lambda one, seen=seen: seen.append(one.nbytes))  # type: ignore[no-untyped-call]
            for one in model.parameters()
            if one.requires_grad
        ]
        F.mse_loss(model(inputs), targets).backward()  # type: ignore[no-untyped-call]
        for hook in hooks:
            hook.remove()
        orders.append(seen)
    return orders


def _run(bucket_starts: Callable[..., Starts], case: HooksCase) -> list[Starts]:
    starts = [bucket_starts(ready, case.bucket_bytes) for ready in ready_bytes(case)]
    return [
        [[AFTER if number == len(ready) and size < case.bucket_bytes else number, size] for number, size in one]
        for one, ready in zip(starts, ready_bytes(case), strict=True)
    ]


IS_FULL, SENT = "if held >= bucket_bytes:", "starts.append([number, held])"
LEFT = "starts.append([AFTER, held])"
BUCKETS = ReferenceTable(
    bucket_starts,
    Misconception(
        "nothing_overlaps",
        "You start every all-reduce after backward, so nothing overlaps. Send a bucket in the hook that fills it.",
        {SENT: "starts.append([AFTER, held])"},
        variants=[{IS_FULL: "if False:"}, {SENT: "starts.append([len(ready), held])"}],
    ),
    Misconception(
        "one_for_each_tensor",
        "You send each gradient by itself. Collect them in a bucket until it holds bucket_bytes.",
        {IS_FULL: "if True:"},
    ),
    Misconception(
        "bucket_not_emptied",
        "You keep gradients in the bucket that were sent already, and send them again. Empty it when it is sent.",
        {"            held = 0\n": ""},
    ),
    Misconception(
        "bucket_closed_beyond",
        "You keep a bucket open when it holds exactly bucket_bytes. It is full as soon as it holds at least that much.",
        {IS_FULL: "if held > bucket_bytes:"},
    ),
    Misconception(
        "bucket_never_overfilled",
        "You send a bucket before a gradient that does not fit. It takes that gradient too, and is sent then.",
        {
            "        held += gradient_bytes\n": "        is_full = held and held + gradient_bytes > bucket_bytes\n",
            IS_FULL: "if is_full:",
            "            held = 0\n": "            held = 0\n        held += gradient_bytes\n",
        },
    ),
    Misconception(
        "elements_for_bytes",
        "You compare a number of elements with bucket_bytes. A float32 has 4 bytes: use .nbytes.",
        {IS_FULL: "if held >= 4 * bucket_bytes:"},
    ),
    Misconception(
        "sent_in_64_bits",
        "You all-reduce the gradients in 64 bits. They are in 32: send them as they are.",
        {SENT: "starts.append([number, 2 * held])", LEFT: "starts.append([AFTER, 2 * held])"},
    ),
    Misconception(
        "sent_in_16_bits",
        "You all-reduce the gradients in 16 bits. They are in 32: send them as they are.",
        {SENT: "starts.append([number, held // 2])", LEFT: "starts.append([AFTER, held // 2])"},
    ),
    Misconception(
        "open_bucket_not_sent",
        "You do not send the bucket that is open when backward ends. finish sends it.",
        {"    if held:\n": "    if False:\n"},
    ),
    Misconception(
        "one_hook_reduces_all",
        "You send everything that is ready in one hook, and the rest after backward. Send each bucket as soon as it is "
        "full, whichever gradient fills it.",
        shown_by=lambda answer: all(len(starts) <= 2 for backwards in answer.values for starts in backwards),
    ),
    run=_run,
    cases=hooks_cases,
)
