"""Judges a model that has to meet a budget: equal gradients, the peak, and how little is run twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from grader.judging.budget import claimed_peak_bytes
from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.kept import keep_cases
from grader.judging.lessons.gradient_checkpointing.budget_truth import fewest_recomputed, peak_bytes
from grader.judging.lessons.gradient_checkpointing.runs import judge_modes, judge_outputs, judge_parameters
from grader.judging.vectors import tensors_of
from grader.lessons.gradient_checkpointing.budget import FEW_ROWS, BudgetCase, budget_cases
from grader.meters.storages import distinct_storage_bytes
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

# What a peak is when one term is left out: the code, and where to look.
FORGOTTEN = {
    "work": (
        "gradient_inside_forgotten",
        "You leave out the gradient inside the block at work: half of its interior, in addition to it.",
    ),
    "inputs": (
        "kept_inputs_forgotten",
        "You leave out the inputs of the blocks up to the one at work. Each of them is still held.",
    ),
    "parameters": (
        "parameters_forgotten",
        "You leave out parameters, or their gradients. Both are part of the budget.",
    ),
    "block": (
        "block_at_work_forgotten",
        "You leave out the interior of the block at work. It is held, in a checkpoint or not.",
    ),
}


def judge_budget_gradients(observation: Observation, seed: int) -> Verdict:
    """Judge outputs and gradients of two models, whatever is checkpointed."""
    cases, largest = budget_cases(seed)[:2], 0.0
    for index, case in enumerate(cases):
        facts, tensors = observation.facts["settings"][index], tensors_of(observation, index)
        outputs, gradient = _plain_run(case)
        verdict = (
            judge_modes(facts)
            or judge_outputs(tensors["outputs"], outputs)
            or _judge_graph(facts)
            or judge_parameters(facts["missing"], tensors["gradient"])
            or _judge_gradient(tensors["gradient"], gradient, case)
        )
        if verdict:
            return verdict
        largest = max(largest, _largest_error(tensors["gradient"], gradient, case))
    measured = f"{len(cases)} models with the gradients of their plain blocks (largest error {largest:.0e})"
    return Verdict(PASSED, "the gradients of the plain blocks", measured)


def _judge_graph(facts: Mapping[str, Any]) -> Verdict | None:
    if facts["needs_gradient"]:
        return None
    look_at = "You cut the output off from its graph. Look for no_grad, detach() or a reentrant checkpoint."
    return Verdict("output_without_graph", "an output that needs a gradient", "requires_grad=False", look_at)


def _judge_gradient(seen: Tensor, reference: Tensor, case: BudgetCase) -> Verdict | None:
    expected = "the gradients of the plain blocks"
    if not bool(torch.isfinite(seen).all()):
        return Verdict(
            "gradient_not_finite",
            expected,
            "NaN or infinity",
            "You return NaN or infinity. Look for a division by zero.",
        )
    comparison, largest = compare(seen, reference), _largest_error(seen, reference, case)
    if largest <= RELATIVE_TOLERANCE:
        return None
    if comparison.residual <= RELATIVE_TOLERANCE:
        look_at = f"You scale the gradients by {comparison.factor:.4g}. Look for a product or a division."
        return Verdict("gradient_scaled", expected, f"exactly {comparison.factor:.4g} times them", look_at)
    measured = f"gradients that differ from them by up to {largest:.0%} in a block"
    if case.dropout:
        look_at = "You let dropout draw another mask in the second run. Look at preserve_rng_state."
        return Verdict("random_state_not_kept", expected, measured, look_at)
    return Verdict(
        "other_gradient", expected, measured, "You compute other gradients. Look at which input each block runs on."
    )


def _largest_error(seen: Tensor, reference: Tensor, case: BudgetCase) -> float:
    """Return the largest relative error of a block: gradients of early blocks are smaller than the last ones."""
    sizes = [sum(parameter.numel() for parameter in block.parameters()) for block in case.make_model()]
    pairs = zip(torch.split(seen, sizes), torch.split(reference, sizes), strict=True)
    return max(compare(part, own).relative_error for part, own in pairs)


@keep_cases
def _plain_run(case: BudgetCase) -> tuple[Tensor, Tensor]:
    model = case.make_model()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(case.seed)
        outputs = model(case.make_inputs(FEW_ROWS))
    torch.autograd.backward(outputs.square().sum())
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return outputs.detach(), torch.cat([gradient.flatten() for gradient in gradients])


def judge_budget_peak(observation: Observation, seed: int) -> Verdict:
    """Judge the peak of every model, then what was run twice."""
    cases = budget_cases(seed)
    seen = list(zip(cases, observation.facts["settings"], observation.facts["claims"], strict=True))
    shares = []
    for case, facts, claim in seen:
        claimed_bytes = claimed_peak_bytes(claim, _needed_bytes(case))
        verdict = _judge_peak(case, facts, claimed_bytes) or _judge_recompute(case, facts)
        if verdict:
            return verdict
        shares.append(f"{claimed_bytes / case.budget_bytes:.0%}")
    runs = ", ".join(str(len(facts["recomputed"])) for _, facts, _ in seen)
    measured = f"{', '.join(shares)} of the budgets, with {runs} blocks run twice"
    return Verdict(PASSED, "every peak within its budget", measured)


def _judge_peak(case: BudgetCase, facts: Mapping[str, Any], claimed_bytes: int) -> Verdict | None:
    if claimed_bytes <= case.budget_bytes:
        return None
    expected = f"a peak of at most {format_bytes(case.budget_bytes)}, the budget"
    plain_bytes = peak_bytes(case, ())
    measured = f"{format_bytes(claimed_bytes)}, {claimed_bytes / plain_bytes:.0%} of what the plain blocks need"
    code, look_at = _explain_peak(case, facts)
    return Verdict(code, expected, measured, look_at)


def _explain_peak(case: BudgetCase, facts: Mapping[str, Any]) -> tuple[str, str]:
    """Name what keeps a peak high, from the blocks that ran again, in their order."""
    recomputed = list(facts["recomputed"])
    blocks = len(case.kept_bytes)
    if recomputed == list(range(blocks)):
        return (
            "one_checkpoint_for_all",
            "You put all blocks into one checkpoint, so all is held when it runs again. Take one for each block.",
        )
    if recomputed != sorted(recomputed, reverse=True):
        return (
            "large_segments",
            "You put several blocks into one checkpoint, so all of them are held when it runs again. Use more.",
        )
    for term, (code, look_at) in FORGOTTEN.items():
        if _is_fewest_without(case, recomputed, term):
            return code, look_at
    if not recomputed:
        return "nothing_recomputed", "You run no block twice. Look at which blocks are in a checkpoint."
    largest = max(range(blocks), key=lambda index: case.kept_bytes[index])
    if largest in recomputed and len(recomputed) <= fewest_recomputed(case):
        look_at = (
            "You checkpoint the largest block, but it is held in full when backward comes to it. Look at the others."
        )
        return "largest_block_chosen", look_at
    return (
        "wrong_blocks_chosen",
        "You checkpoint blocks that do not lower the peak enough. Look at what is held at each block.",
    )


def _is_fewest_without(case: BudgetCase, recomputed: list[int], term: str) -> bool:
    """Return whether the blocks would do, and no fewer, if one term of the peak were not there."""
    fewer = combinations(range(len(case.kept_bytes)), len(recomputed) - 1) if recomputed else ()
    plans = [peak_bytes(case, plan, left_out=term) for plan in fewer]
    return peak_bytes(case, recomputed, left_out=term) <= case.budget_bytes < min(plans, default=case.budget_bytes + 1)


def _judge_recompute(case: BudgetCase, facts: Mapping[str, Any]) -> Verdict | None:
    recomputed = list(facts["recomputed"])
    if len(recomputed) <= fewest_recomputed(case):
        return None
    blocks, last = len(case.kept_bytes), len(case.kept_bytes) - 1
    expected = f"{fewest_recomputed(case)} blocks run twice: so few are enough for {format_bytes(case.budget_bytes)}"
    measured = f"{len(recomputed)} of {blocks} blocks run twice"
    if len(set(recomputed)) == blocks:
        return Verdict(
            "every_block_recomputed", expected, measured, "You run every block twice. Keep those whose activations fit."
        )
    if not fewest_recomputed(case):
        look_at = "You run blocks twice where the plain blocks meet the budget. Look at what no checkpoint needs."
        return Verdict("recomputed_needlessly", expected, measured, look_at)
    if last in recomputed:
        look_at = "You checkpoint the last block, which frees nothing: its second run follows right after its first."
        return Verdict("last_block_recomputed", expected, measured, look_at)
    if set(recomputed) == set(_cheapest(case, lambda index: case.kept_bytes[index])):
        look_at = "You choose the set with the fewest bytes to run again. The set with the fewest blocks is asked for."
        return Verdict("fewest_bytes_recomputed", expected, measured, look_at)
    if set(recomputed) == set(_cheapest(case, lambda index: 2**index)):
        look_at = "You try the sets in the order of their numbers. Try those with few blocks first."
        return Verdict("sets_in_another_order", expected, measured, look_at)
    look_at = "You run more blocks twice than the budget asks for. Look at which of them could be kept."
    return Verdict("more_recomputed_than_needed", expected, measured, look_at)


def _cheapest(case: BudgetCase, price: Callable[[int], int]) -> tuple[int, ...]:
    """Return the set of blocks with the lowest sum of prices among those that meet the budget."""
    blocks = range(len(case.kept_bytes))
    sets = (chosen for count in range(len(blocks) + 1) for chosen in combinations(blocks, count))
    fitting = (chosen for chosen in sets if peak_bytes(case, chosen) <= case.budget_bytes)
    return min(fitting, key=lambda chosen: sum(map(price, chosen)))


@keep_cases
def _needed_bytes(case: BudgetCase) -> int:
    """Return what model and input hold before anything runs."""
    model: nn.Module = case.make_model()
    return distinct_storage_bytes([*model.parameters(), case.make_inputs()])
