"""What the relative distance of two trained models is mistaken for: other formulas over all of their tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, permutations

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.lessons.three_forms.distance_parts import OF_SOME_TENSORS
from grader.judging.lessons.three_forms.distance_reference import Weights, flat, norm, weights_of
from grader.judging.numbers import Mistake
from grader.lessons.three_forms.distance import DistanceCase

Formula = Callable[[Weights], float]


def _mistakes(code: str, look_at: str, *formulas: Formula) -> list[Mistake[DistanceCase]]:
    """Make one misconception out of all the formulas that it is written as."""
    return [Mistake(code, partial(_apply, formula), look_at) for formula in formulas]


def _apply(formula: Formula, case: DistanceCase) -> float:
    return formula(weights_of(case))


def _cosine(one: Sequence[Tensor], other: Sequence[Tensor]) -> float:
    return float(F.cosine_similarity(flat(one), flat(other), dim=0))


def _added(tensors: Sequence[Tensor]) -> float:
    return sum(norm([tensor]) for tensor in tensors)


def _signed(tensors: Sequence[Tensor]) -> float:
    return float(flat(tensors).sum())


def _element_ratios(weights: Weights) -> Tensor:
    return flat(weights.apart) / flat(weights.moved)


def _ratio(weights: Weights) -> float:
    return norm(weights.apart) / norm(weights.moved)


def _count(weights: Weights) -> int:
    return flat(weights.apart).numel()


_BY_FORMULA = (
    _mistakes(
        "not_divided",
        "relative to what: one difference is much after a short training and little after a long one",
        lambda w: norm(w.apart),
        lambda w: norm(w.apart) ** 2,
        lambda w: norm(w.apart) / _count(w) ** 0.5,
        lambda w: norm(w.apart) ** 2 / _count(w),
        lambda w: norm(w.apart, 1),
        lambda w: norm(w.apart, 1) / _count(w),
    ),
    _mistakes(
        "divided_by_weights",
        "the divisor: how large the weights are does not say how far the training moved them",
        lambda w: norm(w.apart) / norm(w.reference),
        lambda w: norm(w.apart) / norm(w.start),
        lambda w: norm(w.apart) / norm(w.model),
    ),
    _mistakes(
        "divided_by_own_movement",
        "whose movement is the measure: the reference's, for every model that is compared with it",
        lambda w: norm(w.apart) / norm(w.own),
        lambda w: norm(w.apart) / (norm(w.own) + norm(w.moved)),
        lambda w: 2 * norm(w.apart) / (norm(w.own) + norm(w.moved)),
    ),
    _mistakes(
        "model_compared_with_start",
        "what is subtracted from the model",
        lambda w: norm(w.own),
        lambda w: norm(w.own) / norm(w.moved),
        lambda w: norm(w.moved) / norm(w.own),
    ),
    _mistakes("turned_over", "which norm is divided by which: equal models are 0 apart", lambda w: 1 / _ratio(w)),
    _mistakes(
        "root_missing",
        "a sum of squares is not yet a norm",
        lambda w: _ratio(w) ** 2,
        lambda w: norm(w.apart) ** 2 / norm(w.moved),
        lambda w: norm(w.apart) / norm(w.moved) ** 2,
    ),
    _mistakes(
        "movement_alone",
        "the result says how far the reference moved: where does the model enter?",
        lambda w: norm(w.moved),
        lambda w: norm(w.moved) / norm(w.start),
    ),
    _mistakes(
        "two_kinds_of_norm",
        "the same norm above and below: which one does each line compute?",
        *(
            lambda w, above=above, below=below: norm(w.apart, above) / norm(w.moved, below)
            for above, below in permutations((1, 2, float("inf")), 2)
        ),
    ),
    _mistakes("root_of_norm", "a norm has its root already", lambda w: _ratio(w) ** 0.5),
    _mistakes(
        "lengths_compared",
        "two vectors of one length may point anywhere: which comes first, the norm or the difference?",
        lambda w: abs(norm(w.own) - norm(w.moved)) / norm(w.moved),
        lambda w: (norm(w.own) - norm(w.moved)) / norm(w.moved),
        lambda w: norm(w.own) / norm(w.moved) - 1,
        lambda w: norm(w.model) / norm(w.reference),
        lambda w: abs(norm(w.model) - norm(w.reference)) / norm(w.moved),
        lambda w: abs(norm(w.model) - norm(w.reference)) / abs(norm(w.reference) - norm(w.start)),
    ),
    _mistakes(
        "largest_difference",
        "the largest of many differences says nothing of the others: which norm takes all of them?",
        lambda w: norm(w.apart, float("inf")),
        lambda w: norm(w.apart, float("inf")) / norm(w.moved, float("inf")),
        lambda w: float(_element_ratios(w).abs().max()),
    ),
    _mistakes(
        "absolute_values_added",
        "a norm without another name: the root of the sum of squares",
        lambda w: norm(w.apart, 1) / norm(w.moved, 1),
    ),
    _mistakes(
        "signs_cancel",
        "differences of opposite sign cancel in a sum or a mean",
        lambda w: abs(_signed(w.apart) / _signed(w.moved)),
        lambda w: _signed(w.apart) / _signed(w.moved),
        lambda w: abs(_signed(w.apart)),
        lambda w: _signed(w.apart),
    ),
    _mistakes(
        "averaged_over_tensors",
        "one norm over all parameters together: here a bias counts as much as a large matrix",
        lambda w: sum(w.ratios) / len(w.ratios),
        lambda w: sum(w.ratios),
        lambda w: max(w.ratios),
    ),
    _mistakes(
        "norms_added",
        "norms do not add up: the squares inside them do",
        lambda w: _added(w.apart) / _added(w.moved),
        lambda w: _added(w.apart) / norm(w.moved),
        lambda w: norm(w.apart) / _added(w.moved),
    ),
    _mistakes(
        "averaged_over_elements",
        "a weight that hardly moved, with any difference, has a huge ratio of its own: divide once, at the end",
        lambda w: float(_element_ratios(w).abs().mean()),
        lambda w: float(_element_ratios(w).mean()),
        lambda w: float(_element_ratios(w).abs().float().median()),
        lambda w: float(torch.linalg.vector_norm(_element_ratios(w))),
        lambda w: float(_element_ratios(w).square().mean().sqrt()),
    ),
    _mistakes(
        "angle_compared",
        "an angle does not see lengths: one model may have moved twice as far in the same direction",
        lambda w: 1 - _cosine(w.own, w.moved),
        lambda w: _cosine(w.own, w.moved),
        lambda w: 1 - _cosine(w.model, w.reference),
        lambda w: _cosine(w.model, w.reference),
    ),
    _mistakes("percent_returned", "the unit: a ratio is asked for", lambda w: 100 * _ratio(w)),
    _mistakes("nearness_returned", "equal models are 0 apart", lambda w: 1 - _ratio(w), lambda w: 1 / (1 + _ratio(w))),
    _mistakes("bounded", "a model may end further from the reference than the start is", lambda w: min(_ratio(w), 1.0)),
    _mistakes(
        "epsilon_added",
        "what is added to a difference or to a divisor: next to a small difference it counts",
        lambda w: norm([flat(w.apart) + 1e-6]) / norm([flat(w.moved) + 1e-6]),
    ),
    _mistakes(
        "rounded",
        "rounding: two forms that differ by rounding errors are 1e-6 apart",
        *(lambda w, digits=digits: round(_ratio(w), digits) for digits in range(6)),
        lambda w: float(int(_ratio(w))),
    ),
)

MISTAKES: tuple[Mistake[DistanceCase], ...] = (*chain.from_iterable(_BY_FORMULA), *OF_SOME_TENSORS)
