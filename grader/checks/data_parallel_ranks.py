"""What runs in each rank when a check trains with a learner's function, on the CPU, with a record of each update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from grader.cases.data_parallel import (
    LEARNING_RATE,
    accumulation_cases,
    agreement_cases,
    hooks_cases,
)
from grader.checks.rank_records import (
    defer_asynchronous_calls,
    named_tensors,
    plain,
    record_rank_training,
    watch_ddp,
    watch_no_sync,
    watch_rows,
)
from grader.checks.recording import flat_gradient, flat_weights
from grader.ranks.collectives import CollectiveLog

Report = dict[str, Any]  # "facts" and "tensors" of one rank


def observe_hooks(rank: int, answer: Callable[..., Any], seed: int, number: int) -> Report:
    """Prepare a model with the learner's function, and train it for a few updates."""
    case = hooks_cases(seed)[number]
    model = case.make_model(rank)
    with watch_ddp() as made, defer_asynchronous_calls() as waiting:
        answer(model)
        optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=LEARNING_RATE)
        tensors, calls = {"weights.0": flat_weights(model)}, []
        for update, (inputs, targets) in enumerate(case.make_batches(rank)):
            optimizer.zero_grad()
            loss = F.mse_loss(model(inputs), targets)
            with CollectiveLog() as log:
                loss.backward()  # type: ignore[no-untyped-call]
            calls.append(plain(log.events))
            tensors[f"gradient.{update}"] = flat_gradient(model)
            optimizer.step()
            tensors[f"weights.{update + 1}"] = flat_weights(model)
    facts = {"calls": calls, "ddp_made": len(made), "unwaited": sum(not one.is_waited for one in waiting)}
    return {"facts": facts, "tensors": tensors}


def observe_accumulation(rank: int, world_size: int, answer: Callable[..., Any], seed: int, number: int) -> Report:
    """Train one epoch with the learner's loop on a model in DistributedDataParallel."""
    case = accumulation_cases(seed)[number]
    micro_batches = case.make_micro_batches()
    model = DistributedDataParallel(case.make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    with (
        record_rank_training(model.module) as (record, calls),
        watch_rows(model.module, [inputs for inputs, _ in micro_batches]) as seen,
        watch_no_sync(model) as facts,
    ):
        answer(model, optimizer, micro_batches, case.k, rank, world_size)
    facts |= record.facts() | {"calls": calls, "seen": seen}
    return {"facts": facts, "tensors": named_tensors(record)}


def observe_agreement(rank: int, world_size: int, answer: Callable[..., Any], seed: int) -> Report:
    """Ask whether the ranks agree, for each setting of this number of ranks."""
    answers, calls, changed = [], [], []
    for case in agreement_cases(seed):
        if case.world_size != world_size:
            continue
        model = case.make_model(rank)
        before = flat_weights(model)
        with CollectiveLog() as log:
            answers.append(answer(model))
        calls.append(plain(log.events))
        changed.append(not torch.equal(before, flat_weights(model)))
    return {
        "facts": {"answers": [described(one) for one in answers], "calls": calls, "changed": changed},
        "tensors": {},
    }


def described(value: Any) -> Any:
    """Return True or False as they are, also of a tensor or of NumPy, and the type's name of anything else."""
    if isinstance(value, Tensor) or type(value).__module__ == "numpy":
        value = value.item() if getattr(value, "size", None) == 1 or getattr(value, "shape", None) == () else value
    return value if isinstance(value, bool) else type(value).__name__
