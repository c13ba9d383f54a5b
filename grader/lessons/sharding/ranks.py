"""What runs in each rank when a check calls a learner's function of lesson 18, on the CPU."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from torch.distributed.distributed_c10d import _set_pg_timeout
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.lessons.sharding.steps import EPSILON, LEARNING_RATE, step_cases
from grader.lessons.sharding.units import unit_cases
from grader.meters.measurement import measure_peak_memory
from grader.observing.rank_records import plain
from grader.observing.recording import flat_weights
from grader.ranks.collectives import CollectiveLog

WAIT_SECONDS, LET_GO_SECONDS = 10, 0.02
PEAKS = 2  # the least is reported: gloo's threads hold a tensor a little longer in some runs

Report = dict[str, Any]  # "facts" and "tensors" of one rank


def end_lonely_collectives() -> None:
    """Let a collective that another rank does not make fail after `WAIT_SECONDS`."""
    _set_pg_timeout(datetime.timedelta(seconds=WAIT_SECONDS), dist.group.WORLD)


def state_bytes_of(optimizers: Iterable[torch.optim.Optimizer]) -> int:
    """Return the bytes of optimizer state that this rank holds; of a sharded tensor those of its own share."""
    values = [value for one in optimizers for state in one.state.values() for value in state.values()]
    return sum(local(value).nbytes for value in values if isinstance(value, Tensor))


def local(tensor: Tensor) -> Tensor:
    """Return what this rank holds of a tensor: its share of a DTensor, all of any other."""
    share: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return share.detach()


def observe_step(rank: int, answer: Callable[..., Any], seed: int, number: int) -> Report:
    """Train for a few updates with the learner's sharded step."""
    end_lonely_collectives()
    case = step_cases(seed)[number]
    model = case.make_model()
    stepped: dict[int, torch.optim.Optimizer] = {}

    def note(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        stepped[id(optimizer)] = optimizer

    hook = register_optimizer_step_pre_hook(note)
    tensors, calls = {}, []
    step = answer(model, LEARNING_RATE, EPSILON)
    is_step = callable(step)
    for update, (inputs, targets) in enumerate(case.make_batches(rank) if is_step else []):
        model.zero_grad()
        F.mse_loss(model(inputs), targets).backward()  # type: ignore[no-untyped-call]
        stepped.clear()
        with CollectiveLog() as log:
            step()
        calls.append(plain(log.events))
        tensors[f"weights.{update}"] = flat_weights(model)
    hook.remove()
    facts = {"is_step": is_step, "calls": calls, "state_bytes": state_bytes_of(stepped.values())}
    return {"facts": facts | {"optimizers": [type(one).__name__ for one in stepped.values()]}, "tensors": tensors}


def observe_units(rank: int, answer: Callable[..., Any], seed: int, number: int, with_peak: bool) -> Report:
    """Run a chain of units forward and backward, first for its values, then for its peak where that is asked for."""
    end_lonely_collectives()
    case = unit_cases(seed)[number]
    run, shards, inputs = case.make_run(), case.make_shards(rank), case.make_inputs(rank).requires_grad_()

    def forward() -> Any:
        hidden = inputs
        for shard in shards:
            hidden = answer(run, shard, case.total, hidden)
            if not isinstance(hidden, Tensor):
                break
        return hidden

    def step() -> None:
        for shard in (*shards, inputs):
            shard.grad = None
        forward().square().mean().backward()
        _let_go()

    with CollectiveLog() as log:
        outputs = forward()
        facts: dict[str, Any] = {"forward": plain(log.events)}
        if not isinstance(outputs, Tensor) or outputs.shape != inputs.shape or not outputs.requires_grad:
            found = type(outputs).__name__ if not isinstance(outputs, Tensor) else f"a tensor {tuple(outputs.shape)}"
            without = ", without a graph" if isinstance(outputs, Tensor) and not outputs.requires_grad else ""
            return {"facts": facts | {"no_outputs": found + without}, "tensors": {}}
        outputs.square().mean().backward()  # type: ignore[no-untyped-call]
        facts["backward"] = plain(log.events)[len(facts["forward"]) :]
    grads = [shard.grad for shard in (*shards, inputs)]
    missing = sum(grad is None for grad in grads)
    gradients = [torch.zeros(0) if grad is None else grad.detach().clone().flatten() for grad in grads]
    tensors = {"outputs": outputs.detach().clone(), "shards": torch.cat(gradients[:-1]), "inputs": gradients[-1]}
    facts |= {"no_outputs": "", "missing": missing}
    del outputs, grads
    if with_peak:
        measured = [measure_peak_memory(step, inputs=[*shards, inputs]).peak_bytes for _ in range(PEAKS)]
        facts["peak_bytes"] = min(measured)
    return {"facts": facts, "tensors": tensors}


def _let_go() -> None:
    """Wait until gloo's threads hold no tensor: each lets go of one a moment after the call that waited for it."""
    dist.barrier()
    time.sleep(LET_GO_SECONDS)
