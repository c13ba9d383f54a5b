"""What runs in each rank when a check of local SGD calls a learner's function, on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

from grader.lessons.local_sgd.averaging import averaging_cases, vectors_of
from grader.lessons.local_sgd.epoch_records import count_barriers, count_steps, record_epoch
from grader.lessons.local_sgd.epochs import epoch_cases
from grader.lessons.local_sgd.methods import MethodCase, method_cases
from grader.observing.rank_records import defer_asynchronous_calls, plain, watch_rows, watch_steps
from grader.ranks.collectives import CollectiveLog

Report = dict[str, Any]  # "facts" and "tensors" of one rank


def observe_averaging(rank: int, world_size: int, answer: Callable[..., Any], seed: int) -> list[Report]:
    """Average a model with the learner's function, for each setting of this number of ranks."""
    return [
        _average_one(case.make_model(rank), answer) for case in averaging_cases(seed) if case.world_size == world_size
    ]


def _average_one(model: nn.Module, answer: Callable[..., Any]) -> Report:
    parameters, needs = list(model.parameters()), [one.requires_grad for one in model.parameters()]
    buffers = {name: one.dtype for name, one in model.named_buffers()}
    with defer_asynchronous_calls() as waiting, count_barriers() as barriers, CollectiveLog() as log:
        returned = answer(model)
    after = list(model.parameters())
    facts = {
        "returns": returned is not None and returned is not model,
        "calls": plain(log.events),
        "barriers": barriers[0],
        "unwaited": sum(not one.is_waited for one in waiting),
        "is_replaced": list(map(id, after)) != list(map(id, parameters)),
        "is_trainable": [one.requires_grad for one in after] == needs and all(one.is_leaf for one in after),
        "other_formats": [name for name, one in model.named_buffers() if one.dtype != buffers.get(name)],
    }
    return {"facts": facts, "tensors": vectors_of(model)}


def observe_epochs(rank: int, world_size: int, answer: Callable[..., Any], seed: int) -> list[Report]:
    """Train one epoch with the learner's loop, for each setting of this number of ranks."""
    reports = []
    for case in epoch_cases(seed):
        if case.world_size != world_size:
            continue
        model, micro_batches = case.make_model(), case.make_micro_batches()
        optimizer, average = case.make_optimizer(model), _CountedAverage()
        with (
            record_epoch(model) as record,
            watch_rows(model, [inputs for inputs, _ in micro_batches]) as seen,
            watch_steps(optimizer) as is_own_step,
            count_barriers() as barriers,
        ):
            answer(model, optimizer, micro_batches, case.k, case.every, average, rank, world_size)
        more = {"is_own_step": is_own_step, "barriers": barriers[0]}
        reports.append(record.report(seen=seen, averaged=average.calls, **more))
    return reports


class _CountedAverage:
    """The average that a learner's loop is given; it counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, model: nn.Module) -> None:
        """Average what is trained and what has fractions, over all ranks, in place."""
        self.calls += 1
        trained = [one for one in model.parameters() if one.requires_grad]
        average_in_place([*trained, *(one for one in model.buffers() if one.is_floating_point())])


@torch.no_grad()
def average_in_place(tensors: list[Tensor]) -> None:
    """Replace each tensor by its mean over all ranks."""
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor /= dist.get_world_size()


def observe_methods(rank: int, world_size: int, answer: Callable[..., Any], seed: int) -> list[Report]:
    """Ask what a training averages, for each setting of this number of ranks."""
    reports = []
    for case in method_cases(seed):
        if case.world_size != world_size:
            continue
        model = case.make_model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        trained: list[bool] = []

        def train(
            model: nn.Module,
            optimizer: torch.optim.Optimizer,
            case: MethodCase = case,
            given: nn.Module = model,
            trained: list[bool] = trained,
        ) -> None:
            trained.append(model is given)
            _train_by(case, model, optimizer, rank)

        before = _what_watches(model, optimizer)
        with count_steps() as steps:
            said = answer(train, model, optimizer)
        text = said if isinstance(said, str) else type(said).__name__
        left = [name for name, one in _what_watches(model, optimizer).items() if one != before[name]]
        facts = {"answer": text[:60], "is_text": isinstance(said, str), "trained": len(trained)}
        facts["is_copy"] = not all(trained)
        reports.append({"facts": facts | {"steps": steps[0], "left": left}, "tensors": {}})
    return reports


def _what_watches(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Return what a function may hang on a training: the hooks, by their number, and the optimizer's step itself."""
    hooks = [
        *(len(one._backward_hooks or ()) for one in model.parameters()),
        *(len(one._post_accumulate_grad_hooks or ()) for one in model.parameters()),
        *(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in model.modules()),
        len(optimizer._optimizer_step_pre_hooks) + len(optimizer._optimizer_step_post_hooks),
        len(_global_optimizer_pre_hooks) + len(_global_optimizer_post_hooks),
    ]
    return {"a hook": hooks, "another optimizer.step": optimizer.step}


def _train_by(case: MethodCase, model: nn.Module, optimizer: torch.optim.Optimizer, rank: int) -> None:
    for update in range(case.updates):
        optimizer.zero_grad(set_to_none=not case.is_kept)
        case.loss(model, rank, update).backward()  # type: ignore[no-untyped-call]
        gradients = [one.grad for one in model.parameters() if one.grad is not None]
        if case.is_gradient_averaged:
            average_in_place(gradients)
        if not case.is_driver_alone or rank == case.driver:
            optimizer.step()
        if case.is_driver_alone:
            for parameter in model.parameters():
                dist.broadcast(parameter.detach(), src=case.driver)
        is_due = (update + 1) % case.every == 0 or update + 1 == case.updates
        if case.is_parameter_averaged and is_due:
            average_in_place(list(model.parameters()))
