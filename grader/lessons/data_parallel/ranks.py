"""What runs in each rank when a check trains with a learner's function, on the CPU, with a record of each update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from grader.lessons.data_parallel.accumulation import accumulation_cases
from grader.lessons.data_parallel.agreement import agreement_cases
from grader.lessons.data_parallel.agreement_records import PayloadLog, salt_hash, state_of, varying_bits
from grader.lessons.data_parallel.hooks import LEARNING_RATE, hooks_cases
from grader.lessons.data_parallel.overlap import END, watch_all_reduces
from grader.lessons.data_parallel.rank_failures import end_lonely_waits
from grader.observing.rank_records import (
    named_tensors,
    plain,
    record_rank_training,
    watch_ddp,
    watch_no_sync,
    watch_rows,
    watch_steps,
)
from grader.observing.recording import flat_gradient, flat_weights

Report = dict[str, Any]  # "facts" and "tensors" of one rank


def observe_hooks(rank: int, answer: Callable[..., Any], seed: int, number: int) -> Report:
    """Prepare a model with the learner's function, and train it for a few updates."""
    case = hooks_cases(seed)[number]
    model, functions = case.make_model(rank), _functions_of_torch()
    shapes = _shapes_of(model)
    with end_lonely_waits(), watch_ddp() as made, watch_all_reduces(model) as (events, started):
        finish = answer(model, case.bucket_bytes)
        facts = {"replaced": _replaced(functions), "parameters_changed": _shapes_of(model) != shapes}
        optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=LEARNING_RATE)
        tensors, seen, stopped = {"weights.0": flat_weights(model)}, [], ""
        for update, (inputs, targets) in enumerate(case.make_batches(rank)):
            optimizer.zero_grad()
            model.order = case.orders[update]
            loss = F.mse_loss(model(inputs), targets)
            events.clear()
            try:
                loss.backward()  # type: ignore[no-untyped-call]
                events.append([END, 0])
                finish()
            except AttributeError as error:
                if not update or "NoneType" not in str(error):
                    raise
                stopped = str(error)  # earlier updates say more than the gradient that is missing in this one
                break
            seen.append(list(events))
            tensors[f"gradient.{update}"] = flat_gradient(model)
            optimizer.step()
            tensors[f"weights.{update + 1}"] = flat_weights(model)
    facts |= {
        "events": seen,
        "stopped": stopped,
        "ddp_made": len(made),
        "unwaited": sum(not one.is_waited for one in started),
    }
    return {"facts": facts, "tensors": tensors}


def _shapes_of(model: nn.Module) -> list[tuple[str, torch.Size]]:
    return [(name, parameter.shape) for name, parameter in model.named_parameters()]


def _functions_of_torch() -> dict[str, Any]:
    return {
        "torch.Tensor.backward": torch.Tensor.backward,
        "torch.autograd.backward": torch.autograd.backward,
        "torch.optim.SGD.step": torch.optim.SGD.step,
        "torch.nn.Module.__call__": torch.nn.Module.__call__,
    }


def _replaced(functions: dict[str, Any]) -> list[str]:
    return [name for name, function in _functions_of_torch().items() if function is not functions[name]]


def observe_accumulation(rank: int, world_size: int, answer: Callable[..., Any], seed: int, number: int) -> Report:
    """Train one epoch with the learner's loop on a model in DistributedDataParallel."""
    case = accumulation_cases(seed)[number]
    micro_batches = case.make_micro_batches()
    kept = list(micro_batches)
    model = DistributedDataParallel(case.make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=case.learning_rate)
    with (
        end_lonely_waits(),
        record_rank_training(model.module) as (record, calls),
        watch_rows(model.module, [inputs for inputs, _ in kept]) as seen,
        watch_no_sync(model) as facts,
        watch_steps(optimizer) as steps,
        watch_ddp() as made,
    ):
        answer(model, optimizer, micro_batches, case.k, rank, world_size)
    facts |= record.facts() | {"calls": calls, "seen": seen, "ddp_made": len(made)}
    facts["other_steps"] = steps.count(False)
    facts["list_changed"] = not _is_kept(micro_batches, kept, case.make_micro_batches())
    return {"facts": facts, "tensors": named_tensors(record)}


def _is_kept(given: Sequence[Any], kept: Sequence[Any], drawn: Sequence[tuple[Tensor, Tensor]]) -> bool:
    """Whether a list has its members, and their tensors the values that were drawn."""
    return (
        len(given) == len(kept)
        and all(one is other for one, other in zip(given, kept, strict=True))
        and all(
            torch.equal(*pair) for one, other in zip(kept, drawn, strict=True) for pair in zip(one, other, strict=True)
        )
    )


def observe_agreement(rank: int, world_size: int, answer: Callable[..., Any], seed: int) -> Report:
    """Ask whether the ranks agree, for each setting of this number of ranks."""
    answers, calls, changed, payloads = [], [], [], []
    salted, formats = salt_hash(answer, rank), set()
    for case in agreement_cases(seed):
        if case.world_size != world_size:
            continue
        model = case.make_model(rank)
        before = state_of(model)
        with end_lonely_waits(), PayloadLog() as log:
            answers.append(described(answer(model)))
        calls.append(plain(log.events))
        payloads.append(log.payloads)
        formats |= log.formats
        changed.append([one != other for one, other in zip(before, state_of(model), strict=True)])
    facts = {"answers": answers, "calls": calls, "changed": changed, "salted": sorted(set(salted))}
    sent = {"varying_bits": varying_bits(payloads), "formats": sorted(formats)}
    return {"facts": facts | sent, "tensors": {}}


def described(value: Any) -> Any:
    """Return True or False as they are, also of a tensor or of NumPy, and the type's name of anything else."""
    if isinstance(value, Tensor) or type(value).__module__ == "numpy":
        value = value.item() if getattr(value, "size", None) == 1 or getattr(value, "shape", None) == () else value
    return value if isinstance(value, bool) else type(value).__name__
