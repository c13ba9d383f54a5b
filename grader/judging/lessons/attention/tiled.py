"""Judges the values and the gradients of an attention written tile by tile."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.attention.tiled import PARTS, TiledCase, tiled_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

TOLERANCE = 1e-10  # float64; the order of sums moves 1e-14

NAMES = {"output": "the output", "query": "the gradient of the query", "key": "the gradient of the key"}
NAMES |= {"value": "the gradient of the value"}
LOOK_AT = {
    "nan_computed": "You compute NaN, as a difference of two infinities is. Look for queries whose scores in a tile "
    "are all minus infinity: `hidden` is True where a pair is not seen.",
    "output_differs": "Look at forward_tiles: every tile that is yielded goes into merge_into, with its scores scaled "
    "and masked, and with the parts of output and logsumexp themselves, because it works in place.",
    "weights_differ": "Your output is right, and the gradient of the value is not. Look at the weights that you "
    "compute again, exp(scores - logsumexp) with the scale and the mask of forward, and at the sum of P.mT @ dO.",
    "scores_gradient_differs": "Your output and the gradient of the value are right, so your weights are, too. Look "
    "at dP, D and dS = P * (dP - D), at the scale, and at the sums over tiles, in backward_tiles.",
}


def attend(query: Tensor, key: Tensor, value: Tensor, arriving: Tensor, is_causal: bool, tile: int) -> list[Tensor]:
    """Return the output, and the gradients of query, key and value."""
    time, head_dim = query.shape[-2:]
    scale = head_dim**-0.5
    parts = torch.split(torch.arange(time, device=query.device), tile)
    output, logsumexp = torch.zeros_like(query), torch.zeros_like(query[..., 0])
    for rows in parts:
        highest = torch.full_like(logsumexp[..., rows], -torch.inf)
        total, mixed = torch.zeros_like(highest), torch.zeros_like(query[..., rows, :])
        for columns in parts:
            scores = query[..., rows, :] @ key[..., columns, :].mT * scale
            hidden = torch.logical_and(torch.tensor(is_causal), rows[:, None] < columns)
            scores = scores.masked_fill(hidden, -torch.inf)
            new_highest = torch.maximum(highest, scores.amax(dim=-1))
            shrink = torch.exp(highest - new_highest)
            weights = torch.exp(scores - new_highest.unsqueeze(-1))
            total = shrink * total + weights.sum(dim=-1)
            mixed = shrink.unsqueeze(-1) * mixed + weights @ value[..., columns, :]
            highest = new_highest
        output[..., rows, :] = mixed / total.unsqueeze(-1)
        logsumexp[..., rows] = highest + total.log()
    return [output, *attend_backward(query, key, value, arriving, is_causal, parts, scale, output, logsumexp)]


def attend_backward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    arriving: Tensor,
    is_causal: bool,
    parts: tuple[Tensor, ...],
    scale: float,
    output: Tensor,
    logsumexp: Tensor,
) -> list[Tensor]:
    """Return the gradients of query, key and value."""
    of_query, of_key, of_value = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
    common = (output * arriving).sum(dim=-1, keepdim=True)
    for rows in parts:
        for columns in parts:
            again = query[..., rows, :] @ key[..., columns, :].mT * scale
            unseen = torch.logical_and(torch.tensor(is_causal), columns > rows[:, None])
            again = again.masked_fill(unseen, -torch.inf)
            softmax = torch.exp(again - logsumexp[..., rows].unsqueeze(-1))
            of_softmax = arriving[..., rows, :] @ value[..., columns, :].mT
            of_scores = softmax * (of_softmax - common[..., rows, :])
            of_value[..., columns, :] += softmax.mT @ arriving[..., rows, :]
            of_query[..., rows, :] += scale * of_scores @ key[..., columns, :]
            of_key[..., columns, :] += scale * of_scores.mT @ query[..., rows, :]
    return [of_query, of_key, of_value]


def judge_tiled_gradients(observation: Observation, seed: int) -> Verdict:
    """Compare outputs, then gradients; report the first case that differs."""
    cases = tiled_cases(seed)
    values = [[observation.tensors[f"{index}.{name}"] for name in PARTS] for index in range(len(cases))]
    answer = TABLE.answer(seed, values)
    for place, name in enumerate(PARTS):
        part = answer.part(place)
        if part.is_right:
            continue
        case: TiledCase = part.case
        error = float((part.value - part.truth).norm() / part.truth.norm())
        expected = f"{NAMES[name]} within {TOLERANCE:.0e}, {case.what}"
        measured = f"relative error {error:.2g} (norm of the difference / norm of the expected tensor)"
        code = "scores_gradient_differs" if answer.part(3).is_right else "weights_differ"
        code = code if place else "output_differs"
        if error != error:
            measured, code = "NaN in it", "nan_computed"
        evidence = (answer, part, part.only(part.wrong[0]))
        verdict = next(filter(None, (TABLE.judge(each, expected, measured) for each in evidence)), None)
        return verdict or Verdict(code, expected, measured, f"{_say_where(part)} {LOOK_AT[code]}")
    return Verdict(PASSED, "", f"{len(cases)} attentions, forward and backward, equal to {TOLERANCE:.0e}")


def _say_where(part: Answer) -> str:
    cases = tiled_cases(part.seed)
    wrong = [cases[index] for index in part.wrong]
    if all(case.is_causal for case in wrong):
        return "You are right without a mask, and wrong with the causal one."
    if any(case.time < case.tile for case in wrong):
        return "You are wrong even where one tile holds the whole sequence."
    if all(case.time % case.tile for case in wrong):
        return "You are right where all tiles are full, and wrong where the last one is shorter."
    return "You are right where one tile holds the whole sequence, and wrong where there are several tiles."


def _is_rounded(answer: Answer) -> bool:
    return all(map(within(relative=1e-5, absolute=1e-5), answer.values, answer.table.truths(answer.seed)))


def _run(attention: Callable[..., list[Tensor]], case: TiledCase) -> list[Tensor]:
    query, key, value, arriving = case.draw()
    return attention(query, key, value, arriving, case.is_causal, case.tile)


is_near = within(relative=TOLERANCE, absolute=TOLERANCE)
SCALE = "scale = head_dim**-0.5"
HIDDEN = "hidden = torch.logical_and(torch.tensor(is_causal), rows[:, None] < columns)"
UNSEEN = "unseen = torch.logical_and(torch.tensor(is_causal), columns > rows[:, None])"
MASK = "            scores = scores.masked_fill(hidden, -torch.inf)\n"
WEIGHTS = "weights = torch.exp(scores - new_highest.unsqueeze(-1))"
TOTAL = "total = shrink * total + weights.sum(dim=-1)"
MIXED = "mixed = shrink.unsqueeze(-1) * mixed + weights @ value[..., columns, :]"
PLACED = "output[..., rows, :] = mixed / total.unsqueeze(-1)"
AGAIN = "again = query[..., rows, :] @ key[..., columns, :].mT * scale"
SOFTMAX = "softmax = torch.exp(again - logsumexp[..., rows].unsqueeze(-1))"
WHOLE_TILE = "torch.tensor(is_causal and bool(columns[0] > rows[0]))"  # skipped, as the lesson's loop does
RETURN = "return [of_query, of_key, of_value]"

TABLE = ReferenceTable(
    (attend, attend_backward),
    Misconception(
        "digits_lost",
        "You lose digits of the float64 inputs, as a step in float32 does, or a small number added for safety. Look "
        "for float(), for a dtype left out and for an epsilon.",
        shown_by=_is_rounded,
    ),
    Misconception(
        "scale_forgotten",
        "You do not divide the scores by the square root of head_dim. Look at the line that makes the scores.",
        {SCALE: "scale = 1.0"},
    ),
    Misconception(
        "scaled_by_another_number",
        "You scale the scores by another number than one over the square root of head_dim: the last dimension.",
        {SCALE: "scale = 1 / head_dim"},
        variants=[
            {SCALE: "scale = (query.shape[1] * head_dim) ** -0.5"},
            {SCALE: "scale = time**-0.5"},
            {SCALE: "scale = head_dim**0.5"},
        ],
    ),
    Misconception(
        "scale_missing_in_backward",
        "You scale the scores in forward, but not their gradient. Query and key both need the factor in backward.",
        {"+= scale * of_scores @ key": "+= of_scores @ key", "+= scale * of_scores.mT": "+= of_scores.mT"},
        variants=[{"+= scale * of_scores @ key": "+= of_scores @ key"}, {"+= scale * of_scores.mT": "+= of_scores.mT"}],
    ),
    Misconception(
        "scale_missing_in_recomputation",
        "You scale the scores in forward, but not when you compute them again in backward. Look at that line.",
        {AGAIN: AGAIN.removesuffix(" * scale")},
    ),
    Misconception(
        "mask_forgotten",
        "You let every query see all keys, causal or not. Look at is_causal.",
        {HIDDEN: "hidden = torch.tensor(False)", UNSEEN: "unseen = torch.tensor(False)"},
        variants=[{HIDDEN: f"hidden = {WHOLE_TILE}", UNSEEN: f"unseen = {WHOLE_TILE}"}],
    ),
    Misconception(
        "mask_forgotten_in_backward",
        "You mask in forward, but not when you compute the weights again. Hidden pairs get gradients in backward.",
        {UNSEEN: "unseen = torch.tensor(False)"},
        variants=[{UNSEEN: f"unseen = {WHOLE_TILE}"}],
    ),
    Misconception(
        "hidden_scores_zero",
        "You set hidden scores to 0, whose exponential is 1. Use minus infinity.",
        {MASK: MASK.replace("-torch.inf", "0.0"), "masked_fill(unseen, -torch.inf)": "masked_fill(unseen, 0.0)"},
        variants=[
            {
                MASK: MASK.replace("-torch.inf)", f"0.0).masked_fill({WHOLE_TILE}, -torch.inf)"),
                "masked_fill(unseen, -torch.inf)": f"masked_fill(unseen, 0.0).masked_fill({WHOLE_TILE}, -torch.inf)",
            }
        ],
    ),
    Misconception(
        "tiles_softmaxed_alone",
        "You take a softmax over each tile and add or average the results. Tiles weigh differently: merge their sums.",
        {
            TOTAL: "total = total + 1",
            MIXED: "mixed = mixed + torch.softmax(scores, dim=-1).nan_to_num(0.0) @ value[..., columns, :]",
        },
        variants=[
            {
                PLACED: "output[..., rows, :] = mixed",
                MIXED: "mixed = mixed + torch.softmax(scores, dim=-1).nan_to_num(0.0) @ value[..., columns, :]",
            }
        ],
    ),
    Misconception(
        "short_tile_dropped",
        "You leave out the positions after the last full tile. Look at how many tiles there are.",
        {
            "parts = torch.split(torch.arange(time, device=query.device), tile)": "parts = torch.split("
            "torch.arange(time // tile * tile), tile) if time >= tile else ()"
        },
    ),
    Misconception(
        "logsumexp_not_subtracted",
        "You compute the weights of backward without the logsumexp that you kept. They are exp(scores - logsumexp); a "
        "softmax over one tile is not.",
        {SOFTMAX: "softmax = torch.softmax(again, dim=-1).nan_to_num(0.0)"},
        variants=[{SOFTMAX: "softmax = torch.exp(again)"}],
    ),
    Misconception(
        "another_number_for_the_row_sum",
        "You do not subtract D of the table from dP. D is the sum of output * dO over features, one for each query.",
        {"of_softmax - common": "of_softmax + common"},
        variants=[{"(output * arriving).sum(": "(output * arriving).mean("}],
    ),
    Misconception(
        "softmax_gradient_without_its_mean",
        "You leave out the term that softmax subtracts: the sum over each row of weights times their gradient.",
        {"softmax * (of_softmax - common[..., rows, :])": "softmax * of_softmax"},
    ),
    Misconception(
        "mean_over_one_tile",
        "You sum weights times their gradient over one tile. Softmax runs over all keys: use the whole row's sum.",
        {"of_softmax - common[..., rows, :]": "of_softmax - (softmax * of_softmax).sum(dim=-1, keepdim=True)"},
    ),
    Misconception(
        "key_and_value_overwritten",
        "You overwrite the gradients of key and value. Every tile of queries adds to those of each tile of keys.",
        {
            "of_value[..., columns, :] +=": "of_value[..., columns, :] =",
            "of_key[..., columns, :] +=": "of_key[..., columns, :] =",
        },
        variants=[
            {"of_value[..., columns, :] +=": "of_value[..., columns, :] ="},
            {"of_key[..., columns, :] +=": "of_key[..., columns, :] ="},
        ],
    ),
    Misconception(
        "query_overwritten",
        "You overwrite the gradient of the query. Every tile of keys adds to it.",
        {"of_query[..., rows, :] +=": "of_query[..., rows, :] ="},
    ),
    Misconception(
        "gradients_in_another_order",
        "You return the gradients in another order than the arguments of forward: query, key, value.",
        {RETURN: "return [of_key, of_query, of_value]"},
        variants=[{RETURN: "return [of_query, of_value, of_key]"}, {RETURN: "return [of_value, of_key, of_query]"}],
    ),
    run=_run,
    cases=tiled_cases,
    is_near=is_near,
)
