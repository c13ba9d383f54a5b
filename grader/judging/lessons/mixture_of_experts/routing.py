"""Judges a loss that balances experts, and a routing whose bias does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.mixture_of_experts.routing import RoutingCase, routing_cases, run_balance_loss, run_route
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def balance_loss(router_logits: Tensor, chosen: int) -> Tensor:
    """Return the number of experts times the sum of share times mean probability."""
    tokens, experts = router_logits.shape
    probabilities = torch.softmax(router_logits, dim=1)
    picked = probabilities.topk(chosen, dim=1).indices
    counts = F.one_hot(picked, experts).sum(dim=(0, 1)).to(probabilities.dtype)
    shares = counts / (tokens * chosen)
    means = probabilities.mean(dim=0)
    return experts * (shares * means).sum()


def route_with_bias(router_logits: Tensor, bias: Tensor, chosen: int, rate: float) -> tuple[Tensor, Tensor]:
    """Return the gates [tokens, experts] and the next bias [experts]."""
    probabilities = torch.softmax(router_logits, dim=1)
    picked = (probabilities + bias).topk(chosen, dim=1).indices
    is_chosen = torch.zeros_like(probabilities).scatter(1, picked, 1.0)
    kept = probabilities * is_chosen
    gates = kept / kept.sum(dim=1, keepdim=True)
    counts = is_chosen.sum(dim=0)
    return gates, bias + rate * torch.sign(counts.mean() - counts)


def judge_balance_loss(observation: Observation, seed: int) -> Verdict:
    """Compare each loss, then each gradient."""
    names = {"loss": "a loss", "gradient": "a gradient"}
    return _judge(LOSS, observation, seed, names, "losses and their gradients")


def judge_routing_bias(observation: Observation, seed: int) -> Verdict:
    """Compare gates, the gradient that they pass on, and the next bias."""
    names = {"gates": "gates", "gradient": "a gradient of the logits", "bias": "a next bias"}
    return _judge(ROUTE, observation, seed, names, "batches routed, each with its next bias")


def _judge(table: ReferenceTable, observation: Observation, seed: int, names: Mapping[str, str], right: str) -> Verdict:
    cases = routing_cases(seed)
    values = [{name: observation.tensors[f"{name}.{index}"] for name in names} for index in range(len(cases))]
    answer = table.answer(seed, values)
    for name, what in names.items():
        part = answer.part(name)
        if part.is_right:
            continue
        case: RoutingCase = part.case
        setting = f"{case.tokens} tokens, {case.chosen} of {case.experts} experts"
        return table.explain(
            answer,
            part,
            expected=f"{what} of {_size(part.truth)} ({setting})",
            measured=_size(part.value) + _difference(part.value, part.truth),
            otherwise="Route two tokens to one of two experts by hand, and compare line by line.",
        )
    return Verdict(PASSED, "", f"{len(cases)} {right}")


def _size(value: Tensor) -> str:
    if value.dim() == 0:
        return f"{value.item():.4f}"
    return ", ".join(f"{number:.3f}" for number in value.tolist()) if value.dim() == 1 else f"norm {value.norm():.4f}"


def _difference(value: Tensor, truth: Tensor) -> str:
    """Return how far two matrices are apart, which may have the same norm."""
    if value.dim() < 2 or value.shape != truth.shape:
        return ""
    apart = (value - truth).abs()
    rows = int((apart.amax(dim=1) > 1e-6).sum())
    return f"; {rows} of {len(value)} tokens differ, by up to {apart.max():.3g}"


def _loss(function: Any, case: RoutingCase) -> dict[str, Tensor]:
    with torch.enable_grad():
        return run_balance_loss(function, case)


def _route(function: Any, case: RoutingCase) -> dict[str, Tensor]:
    with torch.enable_grad():
        return run_route(function, case)


is_near = within(relative=1e-5, absolute=1e-8)  # shares may be float32
SOFTMAX = "probabilities = torch.softmax(router_logits, dim=1)"
SHARES = "shares = counts / (tokens * chosen)"
MEANS = "means = probabilities.mean(dim=0)"
LOSS_LINE = "return experts * (shares * means).sum()"
ONE_HOT = "F.one_hot(picked, experts).sum(dim=(0, 1)).to(probabilities.dtype)"

LOSS = ReferenceTable(
    balance_loss,
    Misconception(
        "sign_reversed",
        "Your loss has the wrong sign: minimizing it would collapse the router.",
        {LOSS_LINE: "return -experts * (shares * means).sum()"},
    ),
    Misconception(
        "tokens_for_experts",
        "You multiply by the number of tokens, or divide by that of the experts, where the other one belongs.",
        {LOSS_LINE: "return tokens * (shares * means).sum()"},
        variants=[{SHARES: "shares = counts / experts"}, {SHARES: "shares = counts / (experts * chosen)"}],
    ),
    Misconception(
        "chosen_divided_twice",
        "You divide by the number of chosen experts once more. Shares of all choices add up to 1 without it.",
        {SHARES: "shares = counts / (tokens * chosen * chosen)"},
    ),
    Misconception(
        "renormalised_over_the_chosen",
        "Your probabilities of a token add up to 1 over the chosen experts. The mean is over the router's own ones.",
        {
            MEANS: "kept = probabilities * F.one_hot(picked, experts).sum(dim=1)\n"
            "    means = (kept / kept.sum(dim=1, keepdim=True)).mean(dim=0)"
        },
    ),
    Misconception(
        "shares_with_a_gradient",
        "Your value is right, and its gradient is not: you let a gradient through the shares. Counts have none.",
        {SHARES: SHARES + " + probabilities.mean(dim=0) - probabilities.mean(dim=0).detach()"},
    ),
    Misconception(
        "number_of_experts_missing",
        "You leave out the factor that makes a balanced router's loss 1: the number of experts.",
        {LOSS_LINE: "return (shares * means).sum()"},
    ),
    Misconception(
        "averaged_over_experts_twice",
        "You average the products over the experts and leave out their number. The loss adds them, times that number.",
        {LOSS_LINE: "return (shares * means).mean()"},
    ),
    Misconception(
        "shares_add_up_to_the_chosen",
        "Your shares add up to the number of chosen experts. A share counts choices of all choices, not of all tokens.",
        {SHARES: "shares = counts / tokens"},
    ),
    Misconception(
        "counts_for_shares",
        "You multiply by counts where shares belong. Divide them by all choices of the batch.",
        {SHARES: "shares = counts"},
    ),
    Misconception(
        "first_choice_only",
        "You count each token's first choice only. Every chosen expert has to compute it.",
        {"probabilities.topk(chosen, dim=1)": "probabilities.topk(1, dim=1)", SHARES: "shares = counts / tokens"},
        variants=[{"probabilities.topk(chosen, dim=1)": "probabilities.topk(1, dim=1)"}],
    ),
    Misconception(
        "probabilities_for_the_shares",
        "You use probabilities in both factors. The share is what the router did: counts of choices, without a "
        "gradient.",
        {SHARES: "shares = probabilities.mean(dim=0)"},
        variants=[{SHARES: "shares = probabilities.mean(dim=0).detach()"}],
    ),
    Misconception(
        "probabilities_of_the_chosen_only",
        "You average the probabilities of chosen experts only. The mean is over all tokens, wherever they went.",
        {MEANS: "means = (probabilities * F.one_hot(picked, experts).sum(dim=1)).mean(dim=0)"},
    ),
    Misconception(
        "softmax_over_tokens",
        "Your probabilities add up to 1 for each expert. They belong to a token: look at the dimension of the softmax.",
        {SOFTMAX: "probabilities = torch.softmax(router_logits, dim=0)"},
    ),
    Misconception(
        "probabilities_not_averaged",
        "You add up the probabilities of all tokens. The loss would grow with the batch: average them.",
        {MEANS: "means = probabilities.sum(dim=0)"},
    ),
    Misconception(
        "logits_averaged",
        "You average logits where probabilities belong.",
        {MEANS: "means = router_logits.mean(dim=0)"},
    ),
    Misconception(
        "number_of_experts_twice",
        "You multiply by the number of experts twice. A balanced router's loss is 1.",
        {LOSS_LINE: "return experts**2 * (shares * means).sum()"},
    ),
    Misconception(
        "chosen_for_the_number_of_experts",
        "You multiply by the number of chosen experts. The factor is the number of all experts.",
        {LOSS_LINE: "return chosen * (shares * means).sum()"},
    ),
    Misconception(
        "smallest_value_subtracted",
        "You subtract the value of a balanced router. The definition does not.",
        {LOSS_LINE: "return experts * (shares * means).sum() - 1"},
    ),
    Misconception(
        "weight_included",
        "You multiply by the weight with which the loss is added to the training loss. Return the loss itself.",
        {LOSS_LINE: "return 0.01 * experts * (shares * means).sum()"},
        variants=[
            {LOSS_LINE: "return 0.1 * experts * (shares * means).sum()"},
            {LOSS_LINE: "return 0.001 * experts * (shares * means).sum()"},
        ],
    ),
    Misconception(
        "sigmoid_for_softmax",
        "You compute a probability for each expert on its own. Those of one token add up to 1: use a softmax.",
        {SOFTMAX: "probabilities = torch.sigmoid(router_logits)"},
    ),
    Misconception(
        "probabilities_added_for_counts",
        "You add up the probabilities of the chosen experts. A share counts choices, each as one.",
        {
            ONE_HOT: "(F.one_hot(picked, experts).sum(dim=1) * probabilities).sum(dim=0)",
            SHARES: "shares = counts / counts.sum()",
        },
        variants=[
            {
                ONE_HOT: "(F.one_hot(picked, experts).sum(dim=1) * probabilities).sum(dim=0).detach()",
                SHARES: "shares = counts / counts.sum()",
            },
            {ONE_HOT: "(F.one_hot(picked, experts).sum(dim=1) * probabilities).sum(dim=0)"},
        ],
    ),
    Misconception(
        "another_measure_of_balance",
        "You compute another measure of balance, an entropy or a variance. Follow the definition in the text.",
        {LOSS_LINE: "return -(means * means.log()).sum()"},
        variants=[
            {LOSS_LINE: "return (means * means.log()).sum()"},
            {LOSS_LINE: "return means.var() / means.mean() ** 2"},
            {LOSS_LINE: "return means.var()"},
            {LOSS_LINE: "return experts * means.var()"},
            {LOSS_LINE: "return means.std()"},
            {LOSS_LINE: "return torch.logsumexp(router_logits, dim=1).pow(2).mean()"},
            {LOSS_LINE: "return ((means - 1 / experts) ** 2).mean()"},
            {LOSS_LINE: "return ((means - 1 / experts) ** 2).sum()"},
            {LOSS_LINE: "return experts * shares.max() * means.max()"},
        ],
    ),
    run=_loss,
    cases=routing_cases,
    is_near=is_near,
)

PICKED = "picked = (probabilities + bias).topk(chosen, dim=1).indices"
KEPT = "kept = probabilities * is_chosen"
GATES = "gates = kept / kept.sum(dim=1, keepdim=True)"
COUNTS = "counts = is_chosen.sum(dim=0)"
NEXT = "bias + rate * torch.sign(counts.mean() - counts)"

ROUTE = ReferenceTable(
    route_with_bias,
    Misconception(
        "bias_in_the_gates",
        "You let the bias into the gates. It may change who computes a token, but not how much the answer counts.",
        {KEPT: "kept = (probabilities + bias) * is_chosen"},
    ),
    Misconception(
        "bias_added_to_logits",
        "You add the bias to the logits. It belongs to the probabilities, and to the choice alone.",
        {PICKED: "picked = (router_logits + bias).topk(chosen, dim=1).indices"},
        variants=[
            {
                SOFTMAX: "probabilities = torch.softmax(router_logits + bias, dim=1)",
                PICKED: PICKED.replace(" + bias", ""),
            }
        ],
    ),
    Misconception(
        "bias_not_used",
        "You choose by probabilities alone, so the bias changes nothing. Add it before you choose.",
        {PICKED: "picked = probabilities.topk(chosen, dim=1).indices"},
    ),
    Misconception(
        "gates_do_not_add_up",
        "Your gates of a token do not add up to 1. Divide them by the sum of those that were chosen.",
        {GATES: "gates = kept"},
    ),
    Misconception(
        "softmax_of_the_gates",
        "You apply a second softmax, to probabilities. Divide them by their sum.",
        {GATES: "gates = torch.softmax(kept.masked_fill(is_chosen == 0, -torch.inf), dim=1)"},
    ),
    Misconception(
        "gates_of_all_experts",
        "You return the probabilities of all experts. An expert that was not chosen has the gate 0.",
        {KEPT: "kept = probabilities"},
    ),
    Misconception(
        "gates_equal",
        "You give all chosen experts the same gate, which hides from the router which of them was the better one.",
        {GATES: "gates = is_chosen / chosen + 0 * kept"},
    ),
    Misconception(
        "softmax_over_tokens",
        "Your probabilities add up to 1 for each expert. They belong to a token: look at the dimension of the softmax.",
        {SOFTMAX: "probabilities = torch.softmax(router_logits, dim=0)"},
    ),
    Misconception(
        "bias_moves_the_wrong_way",
        "You raise the bias of experts that got more than the mean, which draws still more tokens to them.",
        {NEXT: "bias + rate * torch.sign(counts - counts.mean())"},
    ),
    Misconception(
        "step_by_the_difference",
        "You change the bias in proportion to the difference. Each one moves by `rate`: only the sign counts.",
        {NEXT: "bias + rate * (counts.mean() - counts)"},
        variants=[
            {NEXT: "bias + rate * (counts.mean() - counts) / counts.mean()"},
            {NEXT: "bias + rate * (counts.mean() - counts) / counts.sum()"},
        ],
    ),
    Misconception(
        "old_bias_dropped",
        "You return the change instead of the bias. Changes add up from batch to batch.",
        {NEXT: "rate * torch.sign(counts.mean() - counts)"},
    ),
    Misconception(
        "one_direction_only",
        "You move the bias in one direction only. Raise it below the mean, and lower it above.",
        {NEXT: "bias + rate * (counts < counts.mean())"},
        variants=[{NEXT: "bias - rate * (counts > counts.mean())"}],
    ),
    Misconception(
        "mean_counts_as_too_many",
        "You also move the bias of experts that got exactly the mean.",
        {NEXT: "bias + rate * torch.where(counts < counts.mean(), 1.0, -1.0)"},
        variants=[{NEXT: "bias + rate * torch.where(counts <= counts.mean(), 1.0, -1.0)"}],
    ),
    Misconception(
        "probabilities_counted",
        "You compare sums of probabilities. What loads an expert is the number of tokens that were sent to it.",
        {COUNTS: "counts = probabilities.sum(dim=0)"},
        variants=[{COUNTS: "counts = gates.sum(dim=0)"}],
    ),
    Misconception(
        "choices_without_bias_counted",
        "You count choices that were made without the bias. Count those of the routing that you return.",
        {COUNTS: "counts = torch.zeros_like(probabilities).scatter(1, probabilities.topk(chosen).indices, 1.0).sum(0)"},
    ),
    Misconception(
        "first_choice_counted",
        "You count each token's first choice only. All chosen experts compute it.",
        {COUNTS: "counts = torch.bincount(picked[:, 0], minlength=len(bias)).double()"},
    ),
    Misconception(
        "one_expert_chosen",
        "You send each token to one expert, whatever number is asked for.",
        {PICKED: "picked = (probabilities + bias).topk(1, dim=1).indices"},
    ),
    Misconception(
        "least_probable_chosen",
        "You choose the experts with the smallest sums. Choose the largest.",
        {PICKED: "picked = (probabilities + bias).topk(chosen, dim=1, largest=False).indices"},
    ),
    Misconception(
        "bias_subtracted",
        "You subtract the bias before you choose. An expert with a higher bias gets more tokens: add it.",
        {PICKED: "picked = (probabilities - bias).topk(chosen, dim=1).indices"},
    ),
    Misconception(
        "bias_multiplied",
        "You multiply probabilities by the bias. It is added.",
        {PICKED: "picked = (probabilities * (1 + bias)).topk(chosen, dim=1).indices"},
        variants=[{PICKED: "picked = (probabilities * bias).topk(chosen, dim=1).indices"}],
        same_as=("bias_added_to_logits", "bias_not_used"),
    ),
    Misconception(
        "divided_by_the_biased_sum",
        "You divide the gates by a sum that holds the bias. Divide by the sum of the probabilities.",
        {GATES: "gates = kept / ((probabilities + bias) * is_chosen).sum(dim=1, keepdim=True)"},
    ),
    Misconception(
        "gates_divided_over_tokens",
        "You divide by the sum over the tokens of an expert. The gates of one token add up to 1.",
        {GATES: "gates = kept / kept.sum(dim=0, keepdim=True).clamp(min=1e-30)"},
        variants=[
            {GATES: "gates = kept / kept.sum(dim=0, keepdim=True)"},
            {GATES: "gates = kept / kept.sum(dim=0, keepdim=True).clamp(min=1e-9)"},
        ],
    ),
    Misconception(
        "sigmoid_for_softmax",
        "You compute a probability for each expert on its own. Those of one token add up to 1: use a softmax.",
        {SOFTMAX: "probabilities = torch.sigmoid(router_logits)"},
    ),
    Misconception(
        "mean_of_the_tokens",
        "You compare with tokens per expert. Each token is sent to several, so the mean is that many times larger.",
        {NEXT: "bias + rate * torch.sign(len(probabilities) / len(bias) - counts)"},
    ),
    Misconception(
        "median_for_the_mean",
        "You compare with the median. Compare with the mean.",
        {NEXT: "bias + rate * torch.sign(counts.median() - counts)"},
    ),
    Misconception(
        "bias_centred",
        "You subtract the mean of the new bias. Return it as it is.",
        {COUNTS: COUNTS + "\n    bias = bias - (bias + rate * torch.sign(counts.mean() - counts)).mean()"},
        variants=[{COUNTS: COUNTS + "\n    bias = bias - bias.mean()"}],
    ),
    Misconception(
        "bias_scaled",
        "You change the bias by a share of itself. It moves by `rate`, whatever it is.",
        {NEXT: "bias * (1 + rate * torch.sign(counts.mean() - counts))"},
    ),
    Misconception(
        "another_rate",
        "You move the bias by another step than `rate`.",
        {NEXT: "bias + 2 * rate * torch.sign(counts.mean() - counts)"},
        variants=[
            {NEXT: "bias + rate / 2 * torch.sign(counts.mean() - counts)"},
            {NEXT: "bias + chosen * rate * torch.sign(counts.mean() - counts)"},
            {NEXT: "bias + 0.01 * torch.sign(counts.mean() - counts)"},
            {NEXT: "bias + 0.001 * torch.sign(counts.mean() - counts)"},
        ],
    ),
    Misconception(
        "mean_rounded",
        "You round the mean. It may be a fraction: an expert right below it is raised, and one right above it lowered.",
        {NEXT: "bias + rate * torch.sign(counts.mean().floor() - counts)"},
        variants=[
            {NEXT: "bias + rate * torch.sign(counts.mean().ceil() - counts)"},
            {NEXT: "bias + rate * torch.sign(counts.mean().round() - counts)"},
            {NEXT: "bias + rate * torch.sign(len(probabilities) // len(bias) * chosen - counts)"},
        ],
    ),
    Misconception(
        "near_the_mean_left_alone",
        "You leave experts alone whose load is near the mean. Only those with exactly the mean keep their bias.",
        {NEXT: "bias + rate * torch.sign(counts.mean() - counts) * ((counts.mean() - counts).abs() > 1)"},
        variants=[
            {NEXT: "bias + rate * (counts.mean() - counts).clamp(-1, 1)"},
            {NEXT: "bias + rate * torch.sign(counts.mean() - counts) * ((counts.mean() - counts).abs() >= 1)"},
        ],
    ),
    Misconception(
        "old_bias_returned",
        "You return the bias unchanged. Move it by `rate`, by the loads of this batch.",
        {NEXT: "bias.clone()"},
    ),
    Misconception(
        "gates_of_the_next_routing",
        "You choose again with the new bias. It counts from the next batch on.",
        {
            f"return gates, {NEXT}": f"""bias = {NEXT}
    again = torch.zeros_like(probabilities).scatter(1, (probabilities + bias).topk(chosen, dim=1).indices, 1.0)
    kept = probabilities * again
    return kept / kept.sum(dim=1, keepdim=True), bias"""
        },
    ),
    Misconception(
        "gates_from_logits",
        "You make gates of logits. They are probabilities, divided by their sum.",
        {KEPT: "kept = router_logits * is_chosen"},
    ),
    Misconception(
        "gates_half_detached",
        "Your gates are right and their gradient is not: you cut off the sum, or the probabilities, by detach().",
        {GATES: "gates = kept / kept.sum(dim=1, keepdim=True).detach()"},
        variants=[{GATES: "gates = kept.detach() / kept.sum(dim=1, keepdim=True)"}],
    ),
    run=_route,
    cases=routing_cases,
    is_near=is_near,
)
