"""Names why a gradient after backward is not the mean over the ranks, by its values and by what the hooks did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.lessons.data_parallel.reports import Facts, all_reduces
from grader.lessons.data_parallel.hooks import HooksCase

LARGEST_ROUNDING = 0.01  # bf16 has 8 significant bits, so each number is off by at most 0.4 %


class Update(NamedTuple):
    """A right update: the gradient of each rank's own rows, their mean, and the weights after it."""

    own: list[Tensor]
    mean: Tensor
    weights: Tensor


def parts_of(case: HooksCase) -> dict[str, slice]:
    """Return where each parameter stands in a vector of all."""
    parts, start = {}, 0
    for name, parameter in case.make_model(0).named_parameters():
        parts[name] = slice(start, start + parameter.numel())
        start += parameter.numel()
    return parts


def explain_by_calls(case: HooksCase, facts: Facts, number: int, code: str) -> tuple[str, str] | None:
    """Explain a gradient by the collectives of its backward, where these say more than the gradient itself."""
    names = {str(name) for name, _ in facts["calls"][number]}
    if "reduce" in names:
        return "reduced_to_one_rank", "dist.reduce leaves the sum on one rank only: all of them need it"
    if "broadcast" in names:
        return "gradient_broadcast", "a broadcast copies one rank's tensor: the mean over all ranks is asked for"
    if code == "some_gradients_own":
        return explain_by_hooks(case, facts, number)
    if code not in ("own_gradient", "divided_not_reduced"):
        return None
    if not names or facts["unwaited"]:
        return explain_silence(facts) or _explain_end(number)
    if "all_reduce" in names and any(facts["moved"]):  # equal weights have themselves as mean
        return "weights_reduced", "your hook changes weights: which tensor of a parameter holds its gradient?"
    if "all_reduce" in names:
        return "copy_reduced", "all_reduce writes into its tensor: is that parameter.grad itself, or a copy of it?"
    return _explain_end(number)


def _explain_end(number: int) -> tuple[str, str] | None:
    if not number:
        return None
    return "first_backward_only", "the hook has to work at every backward: what ends it?"


def explain_own_start(facts: Facts) -> tuple[str, str] | None:
    """Explain first weights that are each rank's own, by the collectives of a rank."""
    if any(name == "broadcast" for name, _ in facts["prepare_calls"]):
        return "copy_broadcast", "broadcast writes into its tensor: is that the parameter itself, or a copy of it?"
    if any(name == "broadcast" for name, _ in facts["forward_calls"]):
        look_at = "the broadcast comes in a forward: every rank needs the weights when your function returns"
        return "broadcast_in_forward", look_at
    if not any(facts["calls"]):
        return (
            "nothing_synchronised",
            "two things: the first weights, and then each gradient, cross the network",
        )
    return None


def explain_silence(facts: Facts) -> tuple[str, str] | None:
    """Explain a backward in which a rank's gradients took part in no all-reduce that was waited for."""
    if facts["unwaited"]:
        return "all_reduce_not_waited_for", "async_op=True returns a handle: who calls its wait()?"
    if facts["module_hooks"]:
        look_at = "a module's backward hook is called before .grad is there: which hook of a parameter is called after?"
        return "module_hook_too_early", look_at
    return None


def explain_by_hooks(case: HooksCase, facts: Facts, number: int) -> tuple[str, str] | None:
    """Explain a backward in which some gradients were not averaged, by the hooks that were registered."""
    if facts["module_hooks"]:
        look_at = "a backward hook of a module runs before the gradients of its parameters are all there"
        return "hook_of_a_module", look_at
    named = case.make_model(0).named_parameters()
    trained = [bool(has) for (_, p), has in zip(named, facts["hooked"], strict=True) if p.requires_grad]
    if not all(trained):
        return None
    sizes = all_reduces(facts["calls"][number])
    if len(sizes) > 1 and len(set(sizes)) == 1:
        look_at = "each parameter has its hook, which is handed that parameter: is it the one that your hook uses?"
        return "hook_of_another_parameter", look_at
    return "hook_leaves_some_out", "each parameter has its hook: what keeps some of them from their all-reduce?"


def explain_gradient(
    case: HooksCase, seen: Tensor, update: Update, rank: int, previous: Tensor
) -> tuple[str, str, str]:
    """Return code, what was measured, and where to look, for a gradient that is not the mean."""
    if not bool(torch.isfinite(seen).all()):
        return "gradient_not_finite", "NaN or infinity", "a division by zero, or memory that was never written"
    if not bool(seen.any()):
        return "no_gradient", "no gradient at all", "what your hook leaves in parameter.grad"
    for wanted, code, measured, look_at in _known(case, update, rank, previous):
        if compare(seen, wanted).is_equal:
            return code, measured, look_at
    factor = compare(seen, update.mean).factor
    if factor and compare(seen, update.mean).is_multiple(factor):
        measured, divisor = f"exactly {factor:.4g} times that gradient", case.world_size / factor
        if 1.5 < divisor < 8.5 and abs(divisor - round(divisor)) < RELATIVE_TOLERANCE * divisor:
            measured += f", as of the sum over {case.world_size} ranks divided by {divisor:.0f}"
            return "divided_by_another_number", measured, "is the divisor the number of ranks?"
        return "gradient_scaled", measured, "which division or product is one too many"
    return _explain_parts(case, seen, update, rank)


def _known(case: HooksCase, update: Update, rank: int, previous: Tensor) -> Iterator[tuple[Tensor, str, str, str]]:
    """Yield gradients that misconceptions lead to: code, what was measured, where to look."""
    world_size, own = case.world_size, update.own[rank]
    code, look_at = "gradients_summed", "an all-reduce adds: what makes a mean of the sum?"
    if rank:  # the ranks before it are right
        code, look_at = (
            "divided_on_some_ranks",
            "rank 0 has the mean: which condition keeps the division from this rank?",
        )
    yield world_size * update.mean, code, f"exactly {world_size} times that gradient", look_at
    look_at = "two divisions by the number of ranks: one of them is enough"
    yield update.mean / world_size, "divided_twice", f"exactly 1 / {world_size} of that gradient", look_at
    look_at = "who calls all_reduce, and when: is the hook registered?"
    yield own, "own_gradient", "the gradient of its own rows", look_at
    look_at = "which call adds the gradients of the other ranks?"
    yield own / world_size, "divided_not_reduced", f"its own gradient, divided by {world_size}", look_at
    look_at = "one rank's gradient is not the mean over all: what brings in the others'?"
    for source, other in enumerate(update.own):
        yield other, "gradient_of_one_rank", f"the gradient of rank {source} alone", look_at
    look_at = "ReduceOp: the mean is made of a sum over the ranks"
    own_gradients = torch.stack(update.own)
    yield own_gradients.amax(dim=0), "largest_taken", "the largest number of the ranks, not their mean", look_at
    yield own_gradients.amin(dim=0), "smallest_taken", "the smallest number of the ranks, not their mean", look_at
    look_at = "a gradient that your hook keeps and adds again"
    yield update.mean + previous, "gradient_kept", "that gradient plus the one before", look_at


def _explain_parts(case: HooksCase, seen: Tensor, update: Update, rank: int) -> tuple[str, str, str]:
    """Explain a gradient of which some parameters are right and others not."""
    wrong = {
        name: compare(seen[part], update.mean[part])
        for name, part in parts_of(case).items()
        if bool(update.mean[part].any()) and not compare(seen[part], update.mean[part]).is_equal
    }
    names = ", ".join(wrong)
    own = all(compare(seen[parts_of(case)[name]], update.own[rank][parts_of(case)[name]]).is_equal for name in wrong)
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
