"""What ranks report of right runs of local SGD, and of runs that differ in one way, without any rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.lessons.local_sgd.epochs import group_gradient
from grader.judging.lessons.local_sgd.evidence import averages_of
from grader.judging.lessons.local_sgd.movements import Stepper, _average_state
from grader.judging.lessons.local_sgd.traffic import average_bytes
from grader.lessons.local_sgd.averaging import AveragingCase, averaging_cases, vectors_of
from grader.lessons.local_sgd.epochs import EpochCase, epoch_cases
from grader.observation import Observation, decode_observation, encode_observation

Parts = dict[str, list[Tensor]]  # one vector for each rank, by what it holds


def sent(observation: Observation) -> Observation:
    """The observation as a judge gets it."""
    return decode_observation(encode_observation(observation))


def right_average(case: AveragingCase, parts: Parts) -> None:
    for name in ("trained", "statistics"):
        parts[name] = [torch.stack(parts[name]).mean(dim=0)] * case.world_size


def averaged_bytes(case: AveragingCase) -> int:
    vectors = vectors_of(case.make_model(0))
    return vectors["trained"].nbytes + vectors["statistics"].nbytes


def averaging_run(
    seed: int,
    change: Callable[[AveragingCase, Parts], None] = lambda case, parts: None,
    calls: Callable[[AveragingCase], list[list[Any]]] = lambda case: [["all_reduce", averaged_bytes(case)]],
    **facts: Any,
) -> Observation:
    """Report what `observe_averaging` would; `change` alters what a right average leaves."""
    settings, tensors = [], {}
    common = {"unwaited": 0, "is_replaced": False, "is_trainable": True, "other_formats": [], "returns": False}
    common |= {"barriers": 0} | facts
    for number, case in enumerate(averaging_cases(seed)):
        made = [vectors_of(case.make_model(rank)) for rank in range(case.world_size)]
        parts = {name: [one[name] for one in made] for name in made[0]}
        before = {name: list(values) for name, values in parts.items()}
        right_average(case, parts)
        parts["before"] = before["trained"]
        change(case, parts)
        del parts["before"]
        for name, values in parts.items():
            tensors |= {f"{number}.{rank}.{name}": value for rank, value in enumerate(values)}
        settings.append([common | {"calls": calls(case)}] * case.world_size)
    return sent(Observation({"settings": settings}, tensors))


def epoch_run(
    seed: int,
    *,
    averages: Callable[[EpochCase], Sequence[int]] = averages_of,
    mean: Callable[[Tensor], Tensor] = lambda weights: weights.mean(dim=0),
    gradient: Callable[[Tensor, int], Tensor] = lambda own, rank: own[rank],
    state: Callable[[Sequence[Stepper]], None] = lambda steppers: None,
    are_statistics_averaged: bool = True,
    rows: Callable[[EpochCase, int], list[int]] = lambda case, rank: case.rows_of(rank),
    extra: Callable[[EpochCase], list[list[Any]]] = lambda case: [],
    **more: Any,
) -> Observation:
    """Report what `observe_epochs` would.

    Args:
        seed: Of the cases.
        averages: After which updates the ranks average.
        mean: What stands for the mean of the ranks' weights [ranks, parameters].
        gradient: What a rank takes for its gradient, of the ranks' own gradients [ranks, parameters].
        state: What is done to the optimizers at each average.
        are_statistics_averaged: Whether running statistics are averaged with the weights.
        rows: Micro-batches of a rank.
        extra: More collectives of every rank.
        **more: Other facts of every rank.
    """
    settings, tensors = [], {}
    for number, case in enumerate(epoch_cases(seed)):
        due, ends, calls = list(averages(case)), [0, *case.boundaries], []
        start = nn.utils.parameters_to_vector(case.make_model().parameters()).detach()
        weights, steppers = [start] * case.world_size, [Stepper(case) for _ in range(case.world_size)]
        models = [case.make_model() for _ in range(case.world_size)]
        for update in range(case.updates):
            own = torch.stack([group_gradient(case, rank, update, one) for rank, one in enumerate(weights)])
            for rank, model in enumerate(models):
                _forward(case, model, weights[rank], case.rows_of(rank)[ends[update] : ends[update + 1]])
                tensors[f"{number}.{rank}.gradient.{update}"] = gradient(own, rank)
                tensors[f"{number}.{rank}.weights.{update}"] = weights[rank]
            used = [gradient(own, rank) for rank in range(case.world_size)]
            weights = [one.step(*pair) for one, *pair in zip(steppers, weights, used, strict=True)]
            if update + 1 in due:
                weights = [mean(torch.stack(weights))] * case.world_size
                state(steppers)
                _average_buffers(models if are_statistics_averaged else [])
                calls.append(["all_reduce", average_bytes(case), ends[update + 1], update + 1])
        shared = {"barriers": 0, "is_own_step": [True] * case.updates} | more
        facts = [_facts(case, rows(case, rank), [*calls, *extra(case)]) for rank in range(case.world_size)]
        settings.append([one | shared for one in facts])
        for rank, model in enumerate(models):
            tensors[f"{number}.{rank}.weights.{case.updates}"] = weights[rank]
            parts = [one.flatten() for one in model.buffers() if one.is_floating_point()]
            tensors[f"{number}.{rank}.statistics"] = torch.cat([torch.zeros(0), *parts])
    return sent(Observation({"settings": settings}, tensors))


def average_state(steppers: Sequence[Stepper]) -> None:
    _average_state(steppers)


def _facts(case: EpochCase, rows: list[int], calls: list[list[Any]]) -> dict[str, Any]:
    ends = [0, *case.boundaries]
    events: list[str] = []
    for first, last in pairwise(ends):
        events += ["forward", "backward"] * (last - first) + ["update"]
    facts = {
        "events": events,
        "forward_rows": [case.rows] * len(rows),
        "is_training": [True] * len(rows),
        "seen": [[index] for index in rows],
    }
    return facts | {"calls": calls, "counts": [case.micro_batches] * case.is_normalised}


def _forward(case: EpochCase, model: nn.Module, weights: Tensor, rows: Sequence[int]) -> None:
    batches = case.make_micro_batches()
    with torch.no_grad():
        nn.utils.vector_to_parameters(weights.clone(), model.parameters())
        for row in rows:
            model(batches[row][0])


def _average_buffers(models: Sequence[nn.Module]) -> None:
    for buffers in zip(*(model.buffers() for model in models), strict=True):
        if buffers[0].is_floating_point():
            mean = torch.stack(list(buffers)).mean(dim=0)
            for buffer in buffers:
                buffer.copy_(mean)
