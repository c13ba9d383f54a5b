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
    """Return the place of each parameter in a vector of all."""
    parts, start = {}, 0
    for name, parameter in case.make_model(0).named_parameters():
        parts[name] = slice(start, start + parameter.numel())
        start += parameter.numel()
    return parts


def explain_by_calls(case: HooksCase, facts: Facts, number: int, code: str) -> tuple[str, str] | None:
    """Explain a gradient by the collectives of its backward, where these say more than the gradient itself."""
    names = {str(name) for name, _ in facts["calls"][number]}
    if "reduce" in names:
        return (
            "reduced_to_one_rank",
            "You use dist.reduce, which leaves the sum on one rank only. All of them need it: use dist.all_reduce.",
        )
    if "broadcast" in names:
        return (
            "gradient_broadcast",
            "You broadcast a gradient, which copies the one of a single rank. Take the mean over all ranks.",
        )
    if code == "some_gradients_own":
        return explain_by_hooks(case, facts, number)
    if code not in ("own_gradient", "divided_not_reduced"):
        return None
    if not names or facts["unwaited"]:
        return explain_silence(facts) or _explain_end(number)
    if "all_reduce" in names and any(facts["moved"]):  # equal weights have themselves as mean
        return "weights_reduced", "You all-reduce the weights in your hook. The gradient is in parameter.grad."
    if "all_reduce" in names:
        return (
            "copy_reduced",
            "You all-reduce a copy of the gradient. all_reduce writes into its tensor: give it parameter.grad itself.",
        )
    return _explain_end(number)


def _explain_end(number: int) -> tuple[str, str] | None:
    if not number:
        return None
    return (
        "first_backward_only",
        "You synchronise the first backward only. The hook has to work at every one: look at what ends it.",
    )


def explain_own_start(facts: Facts) -> tuple[str, str] | None:
    """Explain first weights that are each rank's own, by the collectives of a rank."""
    if any(name == "broadcast" for name, _ in facts["prepare_calls"]):
        return (
            "copy_broadcast",
            "You broadcast into a copy. broadcast writes into its tensor: give it the parameter itself, detached.",
        )
    if any(name == "broadcast" for name, _ in facts["forward_calls"]):
        look_at = "You broadcast in a forward. Every rank needs the weights of rank 0 when your function returns."
        return "broadcast_in_forward", look_at
    if not any(facts["calls"]):
        return (
            "nothing_synchronised",
            "You let the ranks exchange nothing. Broadcast the first weights, and all-reduce each gradient.",
        )
    return None


def explain_silence(facts: Facts) -> tuple[str, str] | None:
    """Explain a backward in which a rank's gradients took part in no all-reduce that was waited for."""
    if facts["unwaited"]:
        return (
            "all_reduce_not_waited_for",
            "You do not wait for your all-reduces. async_op=True returns a handle: call its wait().",
        )
    if facts["module_hooks"]:
        look_at = (
            "You use a module's backward hook, which is called before .grad is there. Use "
            "register_post_accumulate_grad_hook of each parameter."
        )
        return "module_hook_too_early", look_at
    return None


def explain_by_hooks(case: HooksCase, facts: Facts, number: int) -> tuple[str, str] | None:
    """Explain a backward in which some gradients were not averaged, by the hooks that were registered."""
    if facts["module_hooks"]:
        look_at = (
            "You use a module's backward hook, which runs before all gradients of its parameters are "
            "there. Hook each parameter."
        )
        return "hook_of_a_module", look_at
    named = case.make_model(0).named_parameters()
    trained = [bool(has) for (_, p), has in zip(named, facts["hooked"], strict=True) if p.requires_grad]
    if not all(trained):
        return None
    sizes = all_reduces(facts["calls"][number])
    if len(sizes) > 1 and len(set(sizes)) == 1:
        look_at = (
            "You all-reduce the same gradient in every hook. A hook receives its own parameter: use that "
            "one, not a loop variable."
        )
        return "hook_of_another_parameter", look_at
    return (
        "hook_leaves_some_out",
        "You register every hook, but some of them make no all-reduce. Look at the condition inside your hook.",
    )


def explain_gradient(
    case: HooksCase, seen: Tensor, update: Update, rank: int, previous: Tensor
) -> tuple[str, str, str]:
    """Return code, what was measured, and where to look, for a gradient that is not the mean."""
    if not bool(torch.isfinite(seen).all()):
        return (
            "gradient_not_finite",
            "NaN or infinity",
            "You leave NaN or infinity in a gradient. Look for a division by zero, or memory that was never written.",
        )
    if not bool(seen.any()):
        return (
            "no_gradient",
            "no gradient at all",
            "You leave no gradient. Look at what your hook writes into parameter.grad.",
        )
    for wanted, code, measured, look_at in _known(case, update, rank, previous):
        if compare(seen, wanted).is_equal:
            return code, measured, look_at
    factor = compare(seen, update.mean).factor
    if factor and compare(seen, update.mean).is_multiple(factor):
        measured, divisor = f"exactly {factor:.4g} times that gradient", case.world_size / factor
        if 1.5 < divisor < 8.5 and abs(divisor - round(divisor)) < RELATIVE_TOLERANCE * divisor:
            measured += f", as of the sum over {case.world_size} ranks divided by {divisor:.0f}"
            return (
                "divided_by_another_number",
                measured,
                "You divide by a number that is not the number of ranks. Use dist.get_world_size().",
            )
        return "gradient_scaled", measured, "You scale the gradient. Look for a division or a product too many."
    return _explain_parts(case, seen, update, rank)


def _known(case: HooksCase, update: Update, rank: int, previous: Tensor) -> Iterator[tuple[Tensor, str, str, str]]:
    """Yield gradients that misconceptions lead to: code, what was measured, where to look."""
    world_size, own = case.world_size, update.own[rank]
    code, look_at = (
        "gradients_summed",
        "You leave the sum over the ranks, because an all-reduce adds. Divide it by the number of ranks.",
    )
    if rank:  # the ranks before it are right
        code, look_at = (
            "divided_on_some_ranks",
            "You divide on some ranks only. Look at the condition around the division.",
        )
    yield world_size * update.mean, code, f"exactly {world_size} times that gradient", look_at
    look_at = "You divide by the number of ranks twice. Once is enough."
    yield update.mean / world_size, "divided_twice", f"exactly 1 / {world_size} of that gradient", look_at
    look_at = (
        "You leave each rank with its own gradient. Look at whether your hook is registered, and calls all_reduce."
    )
    yield own, "own_gradient", "the gradient of its own rows", look_at
    look_at = "You divide by the number of ranks without adding the other ranks' gradients. Call all_reduce."
    yield own / world_size, "divided_not_reduced", f"its own gradient, divided by {world_size}", look_at
    look_at = "You give all ranks the gradient of one. Add those of the others, and take the mean."
    for source, other in enumerate(update.own):
        yield other, "gradient_of_one_rank", f"the gradient of rank {source} alone", look_at
    look_at = "You take the {} over the ranks, not their mean. Use the sum, which is the default of all_reduce."
    own_gradients = torch.stack(update.own)
    yield (
        own_gradients.amax(dim=0),
        "largest_taken",
        "the largest number of the ranks, not their mean",
        look_at.format("largest number"),
    )
    yield (
        own_gradients.amin(dim=0),
        "smallest_taken",
        "the smallest number of the ranks, not their mean",
        look_at.format("smallest number"),
    )
    look_at = "You add the gradient of the update before. Look at what your hook keeps."
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
        return (
            "some_gradients_own",
            f"its own gradient of {names}",
            f"You leave some gradients out: {names}. Look at which parameters get a hook.",
        )
    if list(wrong) == ["2.weight"] and case.is_tied:
        measured = f"{wrong['2.weight'].factor:.4g} times the gradient of the tied weight, and the others right"
        return (
            "tied_weight_twice",
            measured,
            "You hook the tied weight once for each of its names. model.parameters() gives it once.",
        )
    if not wrong:
        return (
            "frozen_gradient",
            "a gradient of a frozen parameter",
            "You give a frozen parameter a gradient. It takes no part: look at requires_grad.",
        )
    error = compare(seen, update.mean).relative_error
    if error < LARGEST_ROUNDING:
        return (
            "gradient_rounded",
            f"a gradient that is off by {error:.1g}",
            "You round the gradient: it is all-reduced in a number format with fewer digits. Use float32.",
        )
    return (
        "other_gradient",
        f"another gradient of {names}",
        "You end with another gradient. Look at what your hook writes into parameter.grad, and on which ranks.",
    )
