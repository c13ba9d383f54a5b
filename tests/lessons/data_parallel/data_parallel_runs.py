"""What ranks report of right runs, and of runs that differ in one way, without any rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.lessons.data_parallel.accumulation import _own, _reference
from grader.judging.lessons.data_parallel.hook_causes import Update
from grader.judging.lessons.data_parallel.hooks import right_updates
from grader.judging.lessons.data_parallel.traffic import group_sizes, trained_bytes
from grader.lessons.data_parallel.accumulation import AccumulationCase, accumulation_cases
from grader.lessons.data_parallel.hooks import HooksCase, hooks_cases
from grader.observation import Observation, decode_observation, encode_observation

Gradient = Callable[[HooksCase, Update, int, int], Tensor]


def sent(observation: Observation) -> Observation:
    """The observation as a judge gets it."""
    return decode_observation(encode_observation(observation))


def own_rows(case: AccumulationCase, rank: int) -> list[int]:
    return list(range(rank, case.world_size * case.micro_batches, case.world_size))


def start_of(case: HooksCase, rank: int) -> Tensor:
    return nn.utils.parameters_to_vector(case.make_model(rank).parameters()).detach()


def right_gradient(case: HooksCase, update: Update, rank: int, number: int) -> Tensor:
    return update.mean


def hooks_run(
    seed: int,
    gradient: Gradient = right_gradient,
    start: Callable[[HooksCase, int], Tensor] = lambda case, rank: start_of(case, 0),
    calls: Callable[[HooksCase], list[list[Any]]] = lambda case: [["all_reduce", trained_bytes(case)]],
    **facts: Any,
) -> Observation:
    """Report what `observe_hooks` would, with gradients and first weights by the functions given."""
    settings, tensors = [], {}
    for number, case in enumerate(hooks_cases(seed)):
        updates = right_updates(case)
        hooked = [parameter.requires_grad for parameter in case.make_model(0).parameters()]
        common = {"calls": [calls(case)] * len(updates), "ddp_made": 0, "unwaited": 0, "hooked": hooked}
        common |= {"prepare_calls": [], "forward_calls": [], "moved": [False] * len(updates)}
        common |= {"module_hooks": False, "replaced": [], "parameters_changed": False}
        settings.append([common | facts for _ in range(case.world_size)])
        for rank in range(case.world_size):
            tensors[f"{number}.{rank}.weights.0"] = start(case, rank)
            for index, update in enumerate(updates):
                tensors[f"{number}.{rank}.gradient.{index}"] = gradient(case, update, rank, index)
                tensors[f"{number}.{rank}.weights.{index + 1}"] = update.weights
    return sent(Observation({"settings": settings}, tensors))


def epoch_run(
    seed: int,
    *,
    weigh: Callable[[int, int, int], float] = lambda size, k, ranks: 1.0,
    is_own: bool = False,
    rows: Callable[[AccumulationCase, int], Sequence[int]] | None = None,
    reduced: Callable[[int], int] = lambda size: 1,
    **facts: Any,
) -> Observation:
    """Report what `observe_accumulation` would.

    Args:
        seed: Of the cases.
        weigh: Factor of the gradient of a group, by its size, k and the number of ranks.
        is_own: Whether each rank keeps the gradient of its own micro-batches.
        rows: Micro-batches of a rank, in order.
        reduced: How often the gradients are all-reduced for a group of some size.
        **facts: More facts of every rank.
    """
    settings, tensors = [], {}
    for number, case in enumerate(accumulation_cases(seed)):
        groups, ranks = group_sizes(case), []
        gradient_bytes = sum(parameter.nbytes for parameter in case.make_model().parameters())
        for rank in range(case.world_size):
            reference = _own(case, rank) if is_own else _reference(case)
            weights, first = nn.utils.parameters_to_vector(case.make_model().parameters()).detach(), 0
            events: list[str] = []
            for update, size in enumerate(groups):
                parts = [reference.gradient(weights, index) for index in range(first, first + size)]
                seen = torch.stack(parts).mean(dim=0) * weigh(size, case.k, case.world_size)
                tensors |= {
                    f"{number}.{rank}.gradient.{update}": seen,
                    f"{number}.{rank}.weights.{update}": weights,
                }
                weights, first = weights - case.learning_rate * seen, first + size
                events += ["forward", "backward"] * size + ["update"]
            tensors[f"{number}.{rank}.weights.{len(groups)}"] = weights
            ran = list((rows or own_rows)(case, rank))
            flags = [index + 1 == size for size in groups for index in range(size)]
            calls = [[["all_reduce", gradient_bytes]] * reduced(size) for size in groups]
            common = {"events": events, "forward_rows": [case.rows] * len(ran), "seen": [[index] for index in ran]}
            common |= {"ddp_made": 0, "other_steps": 0, "list_changed": False}
            ranks.append(
                common
                | {"calls": [*calls, []], "is_synchronised": flags, "no_sync_entered": 1, "no_sync_called": 1}
                | facts
            )
        settings.append(ranks)
    return sent(Observation({"settings": settings}, tensors))
