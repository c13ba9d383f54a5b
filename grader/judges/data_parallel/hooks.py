"""Verdict on data parallel training by hooks: equal starts, and the mean gradient after every backward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.cases.data_parallel import LEARNING_RATE, HooksCase, hooks_cases
from grader.judges.data_parallel.reports import Facts, facts_of, tensors_of_rank
from grader.judges.equivalence import compare
from grader.judges.vectors import gradient_at
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Ranks = Sequence[dict[str, Tensor]]
LARGEST_ROUNDING = 0.01  # bf16 has 8 significant bits, so each number is off by at most 0.4 %


class Update(NamedTuple):
    """A right update: the gradient of each rank's own rows, their mean, and the weights after it."""

    own: list[Tensor]
    mean: Tensor
    weights: Tensor


def judge_synchronised_gradients(observation: Observation, seed: int) -> Verdict:
    """Compare starts, gradients and weights of every rank with one process that has all rows."""
    cases = hooks_cases(seed)
    for number, case in enumerate(cases):
        facts = facts_of(observation, number, case.world_size)
        ranks = [tensors_of_rank(observation, number, rank) for rank in range(case.world_size)]
        verdict = _judge_library(facts) or _judge_start(case, ranks, facts) or _judge_updates(case, ranks, facts)
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


def _judge_library(facts: Sequence[Facts]) -> Verdict | None:
    if any(fact["ddp_made"] for fact in facts):
        look_at = "hooks of your own: this model is called itself, and no wrapper of it"
        return Verdict("ddp_used", "data parallel by hooks", "a DistributedDataParallel was made", look_at)
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
    if code == "no_broadcast" and not any(any(fact["calls"]) for fact in facts):
        code, look_at = (
            "nothing_synchronised",
            "two things: the first weights, and then each gradient, cross the network",
        )
    return Verdict(code, expected, measured, look_at)


def _explain_start(case: HooksCase, seen: list[Tensor], starts: list[Tensor]) -> tuple[str, str]:
    trained, world_size = _is_trained(case).bool(), case.world_size
    if not all(bool(torch.isfinite(one).all()) for one in seen):
        return "weights_not_finite", "what your function writes into the parameters"
    if all(_is_same(one, start) for one, start in zip(seen, starts, strict=True)):
        return "no_broadcast", "each rank built its model from its own seed: who sends the first weights to whom?"
    if all(_is_same(one, torch.stack(starts).mean(dim=0)) for one in seen):
        return "weights_averaged", "the weights of rank 0 are asked for: a mean of random weights is smaller"
    if all(_is_same(one, torch.stack(starts).sum(dim=0)) for one in seen):
        return "weights_summed", "an all-reduce adds: the weights of rank 0 are asked for"
    for source in range(1, world_size):
        if all(_is_same(one, starts[source]) for one in seen):
            return (
                "broadcast_from_another_rank",
                f"all ranks hold the weights of rank {source}: which rank is the source?",
            )
    if all(_is_same(one, seen[0]) for one in seen):
        return (
            "weights_of_no_rank",
            "all ranks agree, but on other weights than those of rank 0: where do they come from?",
        )
    if all(_is_same(one[trained], starts[0][trained]) for one in seen):
        return "frozen_not_broadcast", "a frozen parameter has weights too: they differ between the ranks"
    wrong = [
        name for name, part in _parts(case).items() if not all(_is_same(one[part], starts[0][part]) for one in seen)
    ]
    return "some_weights_not_broadcast", f"{', '.join(wrong)}: which tensors does your loop leave out?"


def _is_same(seen: Tensor, wanted: Tensor) -> bool:
    return torch.equal(seen, wanted) or compare(seen, wanted).is_equal


def _parts(case: HooksCase) -> dict[str, slice]:
    """Return where each parameter stands in a vector of all."""
    parts, start = {}, 0
    for name, parameter in case.make_model(0).named_parameters():
        parts[name] = slice(start, start + parameter.numel())
        start += parameter.numel()
    return parts


def _judge_updates(case: HooksCase, ranks: Ranks, facts: Sequence[Facts]) -> Verdict | None:
    previous = torch.zeros_like(ranks[0]["weights.0"])
    for number, update in enumerate(right_updates(case)):
        for rank, tensors in enumerate(ranks):
            seen = tensors[f"gradient.{number}"]
            if not compare(seen, update.mean).is_equal:
                place = f"update {number + 1} on rank {rank} of {case.world_size}"
                expected = f"at {place}, the mean of the gradients of all ranks"
                code, measured, look_at = _explain(case, seen, update, rank, previous)
                code, look_at = _explain_calls(facts[rank], number, code) or (code, look_at)
                return Verdict(code, expected, measured, look_at)
            if not compare(tensors[f"weights.{number + 1}"], update.weights).is_equal:
                expected = f"after update {number + 1}, weights that moved by learning rate times mean gradient"
                look_at = "the hook changes the weights too: the optimizer does that"
                return Verdict("weights_changed_in_hook", expected, f"other weights on rank {rank}", look_at)
        previous = update.mean
    return None


def _explain_calls(facts: Facts, number: int, code: str) -> tuple[str, str] | None:
    """Explain a gradient by the collectives of its backward, where these say more than the gradient itself."""
    names = {str(name) for name, _ in facts["calls"][number]}
    if "reduce" in names:
        return "reduced_to_one_rank", "dist.reduce leaves the sum on one rank only: all of them need it"
    if "broadcast" in names:
        return "gradient_broadcast", "a broadcast copies one rank's tensor: the mean over all ranks is asked for"
    if code not in ("own_gradient", "divided_not_reduced"):
        return None
    if facts["unwaited"]:
        return "all_reduce_not_waited_for", "async_op=True returns a handle: who calls its wait()?"
    if "all_reduce" in names:
        return "copy_reduced", "all_reduce writes into its tensor: is that parameter.grad itself, or a copy of it?"
    if number:
        return "first_backward_only", "the hook has to work at every backward: what ends it?"
    return None


def _explain(case: HooksCase, seen: Tensor, update: Update, rank: int, previous: Tensor) -> tuple[str, str, str]:
    if not bool(torch.isfinite(seen).all()):
        return "gradient_not_finite", "NaN or infinity", "a division by zero, or memory that was never written"
    if not bool(seen.any()):
        return "no_gradient", "no gradient at all", "what your hook leaves in parameter.grad"
    for wanted, code, measured, look_at in _known(case, update, rank, previous):
        if compare(seen, wanted).is_equal:
            return code, measured, look_at
    factor = compare(seen, update.mean).factor
    if compare(seen, update.mean).is_multiple(factor):
        look_at = "which division or product is one too many"
        return "gradient_scaled", f"exactly {factor:.4g} times that gradient", look_at
    return _explain_parts(case, seen, update, rank)


def _known(case: HooksCase, update: Update, rank: int, previous: Tensor) -> Iterator[tuple[Tensor, str, str, str]]:
    """Yield gradients that misconceptions lead to: code, what was measured, where to look."""
    world_size, own = case.world_size, update.own[rank]
    look_at = "an all-reduce adds: what makes a mean of the sum?"
    yield world_size * update.mean, "gradients_summed", f"exactly {world_size} times that gradient", look_at
    look_at = "two divisions by the number of ranks: one of them is enough"
    yield update.mean / world_size, "divided_twice", f"exactly 1 / {world_size} of that gradient", look_at
    look_at = "who calls all_reduce, and when: is the hook registered?"
    yield own, "own_gradient", "the gradient of its own rows", look_at
    look_at = "which call adds the gradients of the other ranks?"
    yield own / world_size, "divided_not_reduced", f"its own gradient, divided by {world_size}", look_at
    look_at = "every rank has the gradient of one of them: the mean over all ranks is asked for"
    for source, other in enumerate(update.own):
        yield other, "gradient_of_one_rank", f"the gradient of rank {source} alone", look_at
    look_at = "a gradient that your hook keeps and adds again"
    yield update.mean + previous, "gradient_kept", "that gradient plus the one before", look_at


def _explain_parts(case: HooksCase, seen: Tensor, update: Update, rank: int) -> tuple[str, str, str]:
    """Explain a gradient of which some parameters are right and others not."""
    wrong = {
        name: compare(seen[part], update.mean[part])
        for name, part in _parts(case).items()
        if bool(update.mean[part].any()) and not compare(seen[part], update.mean[part]).is_equal
    }
    names = ", ".join(wrong)
    own = all(compare(seen[_parts(case)[name]], update.own[rank][_parts(case)[name]]).is_equal for name in wrong)
    if wrong and own:
        return "some_gradients_own", f"its own gradient of {names}", f"which parameters get no hook: {names}"
    if list(wrong) == ["2.weight"] and case.is_tied:
        measured = f"{wrong['2.weight'].factor:.4g} times the gradient of the tied weight, and the others right"
        return "tied_weight_twice", measured, "the tied weight: under how many names does your loop meet it?"
    if not wrong:
        return "frozen_gradient", "a gradient of a frozen parameter", "a frozen parameter takes no part"
    error = compare(seen, update.mean).relative_error
    if error < LARGEST_ROUNDING:
        return "gradient_rounded", f"a gradient that is off by {error:.1g}", "the number format of what is all-reduced"
    return "other_gradient", f"another gradient of {names}", "what the hook writes into parameter.grad, for which ranks"
