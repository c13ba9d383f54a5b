"""Judges data parallel training by hooks: equal starts, and the mean gradient after every backward."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.lessons.data_parallel.hook_causes import (
    Update,
    explain_by_calls,
    explain_gradient,
    explain_own_start,
    parts_of,
)
from grader.judging.lessons.data_parallel.reports import Facts, facts_of, tensors_of_rank
from grader.judging.vectors import gradient_at
from grader.lessons.data_parallel.hooks import LEARNING_RATE, HooksCase, hooks_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Ranks = Sequence[dict[str, Tensor]]


def judge_synchronised_gradients(observation: Observation, seed: int) -> Verdict:
    """Compare starts, gradients and weights of every rank with one process that has all rows."""
    cases = hooks_cases(seed)
    for number, case in enumerate(cases):
        facts = facts_of(observation, number, case.world_size)
        ranks = [tensors_of_rank(observation, number, rank) for rank in range(case.world_size)]
        verdict = judge_library(facts) or _judge_start(case, ranks, facts) or _judge_updates(case, ranks, facts)
        if verdict:
            return verdict
    updates = sum(len(right_updates(case)) for case in cases)
    measured = f"{updates} updates on 2, 3 and 4 ranks, each with the gradient of all rows on every rank"
    return Verdict(PASSED, "the gradient of all rows on every rank", measured)


@lru_cache(maxsize=8)
def right_updates(case: HooksCase) -> tuple[Update, ...]:
    """Train on the rows of all ranks in one process, from the weights of rank 0."""
    model, updates = case.make_model(0), []
    batches = [case.make_batches(rank) for rank in range(case.world_size)]
    weights, trained = _start(case, 0), _is_trained(case)
    for update in range(len(batches[0])):
        own = [_gradient(model, weights, *batches[rank][update]) * trained for rank in range(case.world_size)]
        mean = torch.stack(own).mean(dim=0)
        weights = weights - LEARNING_RATE * mean
        updates.append(Update(own, mean, weights))
    return tuple(updates)


def _gradient(model: nn.Module, weights: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
    model.requires_grad_(True)
    return gradient_at(model, lambda _: F.mse_loss(model(inputs), targets), weights, 0)


def _start(case: HooksCase, rank: int) -> Tensor:
    return nn.utils.parameters_to_vector(case.make_model(rank).parameters()).detach()


def _is_trained(case: HooksCase) -> Tensor:
    return torch.cat([torch.full((p.numel(),), float(p.requires_grad)) for p in case.make_model(0).parameters()])


def judge_library(facts: Sequence[Facts]) -> Verdict | None:
    """Find out whether the hooks are the learner's own, and PyTorch's functions are PyTorch's."""
    if any(fact["ddp_made"] for fact in facts):
        look_at = "You make a DistributedDataParallel. Write the hooks yourself: the model is called without a wrapper."
        return Verdict("ddp_used", "data parallel by hooks", "a DistributedDataParallel was made", look_at)
    if any(fact["parameters_changed"] for fact in facts):
        look_at = "You add, remove or reshape a parameter. Broadcast values into the parameters that are there."
        return Verdict("parameters_changed", "the parameters of the model, by name and shape", "others", look_at)
    replaced = sorted({str(name) for fact in facts for name in fact["replaced"]})
    if replaced:
        look_at = "You replace a function of PyTorch, for every model of the process. Give each parameter a hook."
        return Verdict("function_replaced", "the functions of PyTorch as they were", f"another {replaced[0]}", look_at)
    return None


def _judge_start(case: HooksCase, ranks: Ranks, facts: Sequence[Facts]) -> Verdict | None:
    wanted = _start(case, 0)
    if all(compare(rank["weights.0"], wanted).is_equal for rank in ranks):
        return None
    expected = f"on each of {case.world_size} ranks, the weights of rank 0 before the first forward"
    off = [index for index, rank in enumerate(ranks) if not compare(rank["weights.0"], wanted).is_equal]
    measured = f"other weights on rank {', '.join(map(str, off))}"
    starts = [_start(case, rank) for rank in range(case.world_size)]
    code, look_at = _explain_start(case, [rank["weights.0"] for rank in ranks], starts)
    if code == "no_broadcast":
        code, look_at = explain_own_start(facts[0]) or (code, look_at)
    return Verdict(code, expected, measured, look_at)


def _explain_start(case: HooksCase, seen: list[Tensor], starts: list[Tensor]) -> tuple[str, str]:
    trained, world_size = _is_trained(case).bool(), case.world_size
    if not all(bool(torch.isfinite(one).all()) for one in seen):
        return (
            "weights_not_finite",
            "You write NaN or infinity into the parameters. Look at where their new values come from.",
        )
    if all(_is_same(one, start) for one, start in zip(seen, starts, strict=True)):
        return (
            "no_broadcast",
            "You leave each rank with its own first weights, which come from another seed on each. "
            "Broadcast those of rank 0.",
        )
    if all(_is_same(one, torch.stack(starts).mean(dim=0)) for one in seen):
        return (
            "weights_averaged",
            "You average the first weights. A mean of random weights is smaller: broadcast those of rank 0.",
        )
    if all(_is_same(one, torch.stack(starts).sum(dim=0)) for one in seen):
        return "weights_summed", "You sum the first weights: an all-reduce adds. Broadcast those of rank 0."
    for source in range(1, world_size):
        if all(_is_same(one, starts[source]) for one in seen):
            return (
                "broadcast_from_another_rank",
                f"You broadcast the weights of rank {source}. The source is rank 0: src=0.",
            )
    if all(_is_same(one, seen[0]) for one in seen):
        return (
            "weights_of_no_rank",
            "You give all ranks equal weights that are not those of rank 0. Look at where they come from.",
        )
    if all(_is_same(one[trained], starts[0][trained]) for one in seen):
        return (
            "frozen_not_broadcast",
            "You leave out frozen parameters. Their weights differ between the ranks, too: broadcast every parameter.",
        )
    wrong = [
        name for name, part in parts_of(case).items() if not all(_is_same(one[part], starts[0][part]) for one in seen)
    ]
    return (
        "some_weights_not_broadcast",
        f"You do not broadcast {', '.join(wrong)}. Look at which parameters your loop leaves out.",
    )


def _is_same(seen: Tensor, wanted: Tensor) -> bool:
    return torch.equal(seen, wanted) or compare(seen, wanted).is_equal


def _judge_updates(case: HooksCase, ranks: Ranks, facts: Sequence[Facts]) -> Verdict | None:
    previous = torch.zeros_like(ranks[0]["weights.0"])
    for number, update in enumerate(right_updates(case)):
        for rank, tensors in enumerate(ranks):
            seen = tensors[f"gradient.{number}"]
            if not compare(seen, update.mean).is_equal:
                place = f"update {number + 1} on rank {rank} of {case.world_size}"
                expected = f"at {place}, the mean of the gradients of all ranks"
                code, measured, look_at = explain_gradient(case, seen, update, rank, previous)
                code, look_at = explain_by_calls(case, facts[rank], number, code) or (code, look_at)
                return Verdict(code, expected, measured, look_at)
            if not compare(tensors[f"weights.{number + 1}"], update.weights).is_equal:
                expected = f"after update {number + 1}, weights that moved by learning rate times mean gradient"
                look_at = "You change the weights in your hook. The optimizer does that."
                return Verdict("weights_changed_in_hook", expected, f"other weights on rank {rank}", look_at)
        previous = update.mean
    return None
