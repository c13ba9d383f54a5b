"""What learners get wrong when they draw a line through the peaks of two small models."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

from grader.judging.numbers import Mistake
from grader.lessons.where_memory_goes.extrapolation import ExtrapolationCase
from grader.units import GIB, MIB


def layer_bytes(case: ExtrapolationCase) -> int:
    """Return what one layer adds."""
    return _difference(case) // (case.more - case.few)


def fixed_bytes(case: ExtrapolationCase) -> int:
    """Return what every model of the kind holds, whatever its layers."""
    return _few(case) - case.few * layer_bytes(case)


def peak_bytes(case: ExtrapolationCase, layers: int) -> int:
    """Return the peak of a model with so many layers."""
    return fixed_bytes(case) + layers * layer_bytes(case)


def truth(case: ExtrapolationCase) -> int:
    """Return the peak that is asked for."""
    return peak_bytes(case, case.layers)


def _few(case: ExtrapolationCase) -> int:
    return case.few_bytes


def _more(case: ExtrapolationCase) -> int:
    return case.more_bytes


def _difference(case: ExtrapolationCase) -> int:
    return _more(case) - _few(case)


def _from_few(case: ExtrapolationCase, step_bytes: float) -> float:
    """Return the peak for another size of a layer, with the fixed part that the smaller model then has."""
    return _few(case) + (case.layers - case.few) * step_bytes


_FIXED = "embeddings and head are in every model once: do they grow with the layers?"
_LAYER = "the difference of the two small models: how many layers is it for?"
_WHERE_FROM = "a line starts at one of the two models: how many layers does that one have already?"
_LINE = "every layer adds the same number of bytes"
_UNIT = "the unit: bytes are asked for"
_ASSUMED = "numbers that are right for BERT-large only: which argument does each stand for?"

LINE_MISTAKES: tuple[Mistake[ExtrapolationCase], ...] = (
    Mistake("smaller_model_multiplied", lambda c: _few(c) * c.layers / c.few, _FIXED),
    Mistake("smaller_model_multiplied", lambda c: _few(c) * c.layers, _FIXED),
    Mistake("larger_model_multiplied", lambda c: _more(c) * c.layers / c.more, _FIXED),
    Mistake("larger_model_multiplied", lambda c: _more(c) * c.layers, _FIXED),
    Mistake("smaller_model_multiplied", lambda c: _few(c) * (c.layers // c.few), _FIXED),
    Mistake("larger_model_multiplied", lambda c: _more(c) * (c.layers // c.more), _FIXED),
    Mistake("mean_of_two_ratios", lambda c: c.layers * (_few(c) / c.few + _more(c) / c.more) / 2, _FIXED),
    Mistake("sum_per_layer", lambda c: c.layers * (_few(c) + _more(c)) / (c.few + c.more), _FIXED),
    Mistake("difference_not_divided", lambda c: _from_few(c, _difference(c)), _LAYER),
    Mistake("difference_divided_by_more", lambda c: _from_few(c, _difference(c) / c.more), _LAYER),
    Mistake("difference_divided_by_few", lambda c: _from_few(c, _difference(c) / c.few), _LAYER),
    Mistake("difference_divided_by_layers", lambda c: _from_few(c, _difference(c) / c.layers), _LAYER),
    Mistake("two_layers_assumed", lambda c: _from_few(c, _difference(c) / 2), _ASSUMED),
    Mistake("two_layers_assumed", lambda c: _few(c) + (c.layers - 2) * layer_bytes(c), _ASSUMED),
    Mistake("two_layers_assumed", lambda c: _few(c) + (c.layers - 2) * _difference(c) / 2, _ASSUMED),
    Mistake(
        "twice_the_difference",
        lambda c: _more(c) + 2 * _difference(c),
        "twice the difference leads from 8 blocks to 16: how many layers lie between here?",
    ),
    Mistake("layers_of_bert_assumed", lambda c: peak_bytes(c, 24), _ASSUMED),
    Mistake(
        "small_model_taken_for_fixed_part",
        lambda c: _few(c) + c.layers * layer_bytes(c),
        "what a model without any layer would hold: is it what the smaller model holds?",
    ),
    Mistake(
        "small_model_taken_for_fixed_part",
        lambda c: _more(c) + c.layers * layer_bytes(c),
        "what a model without any layer would hold: is it what the larger model holds?",
    ),
    Mistake("one_layer_taken_away", lambda c: _few(c) + (c.layers - 1) * layer_bytes(c), _WHERE_FROM),
    Mistake("few_and_more_mixed_up", lambda c: _more(c) + (c.layers - c.few) * layer_bytes(c), _WHERE_FROM),
    Mistake("few_and_more_mixed_up", lambda c: _few(c) + (c.layers - c.more) * layer_bytes(c), _WHERE_FROM),
    Mistake(
        "sign_of_a_layer_lost", lambda c: _from_few(c, -layer_bytes(c)), "more layers, more bytes: does one add up?"
    ),
    Mistake(
        "sign_of_a_layer_lost",
        lambda c: _more(c) - (c.layers - c.more) * layer_bytes(c),
        "more layers, more bytes: does one add up?",
    ),
    Mistake(
        "fixed_part_of_wrong_sign",
        lambda c: c.layers * layer_bytes(c) - fixed_bytes(c),
        "the layers' bytes, and the fixed part: less or more?",
    ),
    Mistake(
        "layers_added_to_fixed_part",
        lambda c: _few(c) + (c.few + c.layers) * layer_bytes(c),
        "the smaller model without its layers: are they taken away or added?",
    ),
    Mistake("fixed_part_forgotten", lambda c: c.layers * layer_bytes(c), "what a model without any layer would hold"),
    Mistake(
        "fixed_part_of_each_layer",
        lambda c: c.layers * (fixed_bytes(c) + layer_bytes(c)),
        _FIXED,
    ),
    Mistake(
        "added_layers_only",
        lambda c: (c.layers - c.few) * layer_bytes(c),
        "the layers that are added: what is there before them?",
    ),
    Mistake(
        "added_layers_only",
        lambda c: (c.layers - c.more) * layer_bytes(c),
        "the layers that are added: what is there before them?",
    ),
    Mistake("one_layer_returned", lambda c: layer_bytes(c), "the whole model is asked for"),
    Mistake("fixed_part_returned", lambda c: fixed_bytes(c), "the whole model is asked for"),
    Mistake("larger_model_returned", _more, "the model with `layers` layers is asked for"),
    Mistake("smaller_model_returned", _few, "the model with `layers` layers is asked for"),
    Mistake("models_added", lambda c: _few(c) + _more(c), "two models are never held together"),
    Mistake(
        "fewer_layers_left_out",
        lambda c: _few(c) + max(c.layers - c.few, 0) * layer_bytes(c),
        "a model with fewer layers than both small ones: which sign has the difference?",
    ),
    Mistake(
        "fewer_layers_left_out",
        lambda c: _few(c) + abs(c.layers - c.few) * layer_bytes(c),
        "a model with fewer layers than both small ones: which sign has the difference?",
    ),
    Mistake(
        "growth_by_a_factor",
        lambda c: _few(c) * (_more(c) / _few(c)) ** ((c.layers - c.few) / (c.more - c.few)),
        _LINE,
    ),
    Mistake(
        "growth_by_a_power",
        lambda c: _few(c) * (c.layers / c.few) ** (math.log(_more(c) / _few(c)) / math.log(c.more / c.few)),
        _LINE,
    ),
    Mistake(
        "growth_by_a_logarithm",
        lambda c: _few(c) + _difference(c) * math.log(c.layers / c.few) / math.log(c.more / c.few),
        _LINE,
    ),
    Mistake("growth_by_a_square", lambda c: _few(c) * (c.layers / c.few) ** 2, _LINE),
    Mistake("growth_by_a_square", lambda c: fixed_bytes(c) + c.layers**2 * layer_bytes(c), _LINE),
    Mistake("mebibytes_for_bytes", lambda c: truth(c) / MIB, _UNIT),
    Mistake("megabytes_for_bytes", lambda c: truth(c) / 10**6, _UNIT),
    Mistake("gigabytes_for_bytes", lambda c: truth(c) / 10**9, _UNIT),
    Mistake("gibibytes_for_bytes", lambda c: truth(c) / GIB, _UNIT),
)

_STARTS: dict[str, Callable[[ExtrapolationCase], float]] = {
    "zero": lambda c: 0,
    "the smaller model": _few,
    "the larger model": _more,
    "the mean of both models": lambda c: (_few(c) + _more(c)) / 2,
    "the difference of both models": _difference,
    "the fixed part": lambda c: fixed_bytes(c),
}
_COUNTS: dict[str, Callable[[ExtrapolationCase], float]] = {
    "layers": lambda c: c.layers,
    "layers - few": lambda c: c.layers - c.few,
    "layers - more": lambda c: c.layers - c.more,
    "layers - 1": lambda c: c.layers - 1,
}
_DIVISORS: dict[str, Callable[[ExtrapolationCase], float]] = {
    "more - few": lambda c: c.more - c.few,
    "1": lambda c: 1,
    "2": lambda c: 2,
    "few": lambda c: c.few,
    "more": lambda c: c.more,
    "more + few": lambda c: c.more + c.few,
    "layers": lambda c: c.layers,
}


def _line(start: str, count: str, divisor: str) -> Mistake[ExtrapolationCase]:
    return Mistake(
        "line_of_wrong_parts",
        lambda c: _STARTS[start](c) + _COUNTS[count](c) * _difference(c) / _DIVISORS[divisor](c),
        f"your line starts at {start} and adds ({count}) times the difference over ({divisor}): which parts are wrong?",
    )


# Lines with more than one slip, said by their parts.
LINES = tuple(_line(*parts) for parts in product(_STARTS, _COUNTS, _DIVISORS))
