"""Judges one step of the online softmax."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.attention.merging import PARTS, MergeCase, merge_cases, run_merges
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

TOLERANCE = 1e-10  # float64, sums of a few terms

State = tuple[Tensor, Tensor, Tensor]

HOLDS = {
    "highest": "it is the highest score of each query so far",
    "total": "it is the sum of exp(score - new_highest) over all keys so far, the tile's and those before",
    "mixed": "it is the sum of exp(score - new_highest) * value over all keys so far, the tile's and those before",
}


def merge_tile(highest: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, value: Tensor) -> State:
    """Return the three running tensors after one more tile."""
    new_highest = torch.maximum(highest, scores.amax(dim=-1))
    shrink = torch.exp(highest - new_highest)
    weights = torch.exp(scores - new_highest.unsqueeze(-1))
    new_total = shrink * total + weights.sum(dim=-1)
    new_mixed = shrink.unsqueeze(-1) * mixed + weights @ value
    return new_highest, new_total, new_mixed


def judge_merged_tiles(observation: Observation, seed: int) -> Verdict:
    """Compare the three tensors after the last tile of every case."""
    values = [
        {name: observation.tensors[f"{index}.{name}"] for name in PARTS} for index in range(len(merge_cases(seed)))
    ]
    answer = TABLE.answer(seed, values)
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(values)} softmaxes merged from tiles, equal to {TOLERANCE:.0e}")
    case: MergeCase = answer.case
    name = next(name for name in PARTS if not is_near(answer.value[name], answer.truth[name]))
    given, right = answer.value[name], answer.truth[name]
    off = ~torch.isclose(given, right, rtol=TOLERANCE, atol=TOLERANCE)
    place = tuple(off.nonzero()[0].tolist())
    expected = f"{float(right[place]):.12g} in `{name}` after tiles of {', '.join(map(str, case.widths))} keys"
    measured = f"{float(given[place]):.12g}"
    verdict = TABLE.judge(answer, expected, measured) or TABLE.judge(answer.only(answer.wrong[0]), expected, measured)
    return verdict or Verdict(*_otherwise(answer, expected, measured))


def _otherwise(answer: Answer, expected: str, measured: str) -> tuple[str, str, str, str]:
    wrong = [name for name in PARTS if not answer.part(name).is_right]
    if len(wrong) == 1:
        look_at = (
            f"You compute all but `{wrong[0]}` right, which is made with the same exponentials. Look at its line: "
        )
        return "one_sum_wrong", expected, measured, f"{look_at}{HOLDS[wrong[0]]}."
    if all(merge_cases(answer.seed)[index].has_hidden for index in answer.wrong):
        own, right = (each["total"][..., 1::2] for each in (answer.value, answer.truth))  # of queries that see all
        whose = "only for queries that miss keys" if is_near(own, right) else "even for queries that see every key"
        look_at = "You are right where scores rise from tile to tile. Where they fall and some are minus infinity, you "
        look_at += f"are wrong, {whose}. Look for a condition, and at how you treat minus infinity."
        return "falling_or_hidden_scores", expected, measured, look_at
    look_at = "You compute both sums wrong. Look at what they share: the weights, exp(scores - new_highest), and the "
    return "both_sums_wrong", expected, measured, f"{look_at}factor of the old sums, exp(highest - new_highest)."


def _is_rounded(answer: Answer) -> bool:
    return all(map(within(relative=1e-3, absolute=1e-3), answer.values, answer.table.truths(answer.seed)))


def _run(merge: Callable[..., State], case: MergeCase) -> dict[str, Tensor]:
    return run_merges(merge, case)


is_near = within(relative=TOLERANCE, absolute=TOLERANCE)
HIGHEST = "torch.maximum(highest, scores.amax(dim=-1))"
SHRINK = "shrink = torch.exp(highest - new_highest)"
WEIGHTS = "weights = torch.exp(scores - new_highest.unsqueeze(-1))"
TOTAL = "shrink * total + weights.sum(dim=-1)"
MIXED = "shrink.unsqueeze(-1) * mixed + weights @ value"

TABLE = ReferenceTable(
    merge_tile,
    Misconception(
        "digits_lost",
        "You lose digits of the float64 tensors that arrive, as a step in float32 does, or a small number added for "
        "safety. Look for float(), for a dtype left out and for an epsilon.",
        shown_by=_is_rounded,
    ),
    Misconception(
        "nothing_rescaled",
        "You add the new tile to sums that were made with another highest score. Rescale both sums first.",
        {SHRINK: "shrink = torch.ones_like(total)"},
    ),
    Misconception(
        "total_not_rescaled",
        "You rescale `mixed`, but not `total`. Both were made with the highest score of before.",
        {TOTAL: "total + weights.sum(dim=-1)"},
    ),
    Misconception(
        "mixed_not_rescaled",
        "You rescale `total`, but not `mixed`. Both were made with the highest score of before.",
        {MIXED: "mixed + weights @ value"},
    ),
    Misconception(
        "rescaled_the_wrong_way",
        "You rescale by the inverse of the right factor. The highest score only rises, so old sums shrink.",
        {SHRINK: "shrink = torch.exp(new_highest - highest)"},
        variants=[{SHRINK: "shrink = torch.exp(new_highest - highest).nan_to_num(posinf=0.0)"}],
    ),
    Misconception(
        "rescaled_without_the_exponential",
        "You rescale by a difference or a quotient of scores. Sums hold exponentials: use that of the difference.",
        {SHRINK: "shrink = (highest / new_highest).nan_to_num(neginf=0.0, posinf=0.0)"},
        variants=[{SHRINK: "shrink = (highest - new_highest).nan_to_num(neginf=0.0)"}],
    ),
    Misconception(
        "weights_rescaled_too",
        "You rescale the new tile as well. Its weights are made with the new highest score already.",
        {TOTAL: "shrink * (total + weights.sum(dim=-1))", MIXED: "shrink.unsqueeze(-1) * (mixed + weights @ value)"},
        variants=[{MIXED: "shrink.unsqueeze(-1) * (mixed + weights @ value)"}],
    ),
    Misconception(
        "highest_of_before_subtracted",
        "You subtract the highest score of before from the new tile. A new score may be above it: use the new one.",
        {WEIGHTS: "weights = torch.exp(scores - highest.unsqueeze(-1))"},
        variants=[
            {WEIGHTS: "weights = torch.exp(scores - highest.clamp(min=-1e9).unsqueeze(-1))"},
        ],
    ),
    Misconception(
        "no_highest_subtracted",
        "You take the exponential of the scores as they are, which can overflow. Subtract new_highest first.",
        {WEIGHTS: "weights = torch.exp(scores)"},
        variants=[{WEIGHTS: "weights = torch.exp(scores)", SHRINK: "shrink = torch.ones_like(total)"}],
    ),
    Misconception(
        "highest_of_the_tile_only",
        "You subtract the highest score of the tile from its scores. Sums of different tiles need one common score.",
        {WEIGHTS: "weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True).clamp(min=-1e9))"},
        variants=[{WEIGHTS: "weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True))"}],
    ),
    Misconception(
        "softmax_of_the_tile",
        "You normalise the weights of each tile. A softmax over a tile forgets how much the tile weighs in all.",
        {WEIGHTS: "weights = torch.softmax(scores, dim=-1)"},
        variants=[
            {WEIGHTS: "weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)"},
            {WEIGHTS: "weights = torch.softmax(scores, dim=-1)", SHRINK: "shrink = torch.ones_like(total)"},
        ],
    ),
    Misconception(
        "earlier_tiles_forgotten",
        "You return the sums of the last tile only. Add those of the tiles before, rescaled.",
        {TOTAL: "weights.sum(dim=-1)", MIXED: "weights @ value"},
        variants=[{TOTAL: "weights.sum(dim=-1)"}, {MIXED: "weights @ value"}],
    ),
    Misconception(
        "mixed_normalised",
        "You divide `mixed` by the total in each step. It is divided once, after the last tile.",
        {MIXED: "(shrink.unsqueeze(-1) * mixed + weights @ value) / new_total.unsqueeze(-1)"},
        variants=[{MIXED: "((shrink * total).unsqueeze(-1) * mixed + weights @ value) / new_total.unsqueeze(-1)"}],
    ),
    Misconception(
        "mean_for_sum",
        "You take a mean over the keys of a tile. Tiles have different widths: take the sum.",
        {TOTAL: "shrink * total + weights.mean(dim=-1)"},
        variants=[{MIXED: "shrink.unsqueeze(-1) * mixed + weights @ value / scores.shape[-1]"}],
    ),
    Misconception(
        "new_tile_rescaled",
        "You rescale the new tile, which already has the new highest score. Rescale the sums of before.",
        {
            TOTAL: "total + shrink * weights.sum(dim=-1)",
            MIXED: "mixed + shrink.unsqueeze(-1) * (weights @ value)",
        },
    ),
    Misconception(
        "scores_scaled_again",
        "You scale the scores, which arrive scaled already. Use them as they are.",
        {"    new_highest = ": "    scores = scores / value.shape[-1] ** 0.5\n    new_highest = "},
    ),
    Misconception(
        "another_highest_returned",
        "You return another highest score than that of each query over all tiles so far. Keep the given first line, "
        "and return the new_highest that it computes.",
        shown_by=lambda answer: not answer.part("highest").is_right,
    ),
    run=_run,
    cases=merge_cases,
    is_near=is_near,
)
