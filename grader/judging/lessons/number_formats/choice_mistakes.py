"""What learners get wrong when they choose a format by measuring."""

from __future__ import annotations

from grader.judging.lessons.number_formats import choice_ways as ways
from grader.judging.lessons.number_formats.choice_truth import MEASURED
from grader.judging.lessons.number_formats.choice_ways import Choose, first_that
from grader.judging.lessons.number_formats.wording import join_sentences
from grader.lessons.number_formats.choice import FORMAT_NAMES

_RELATIVE = f"relative to each value: {MEASURED}"
_ORDER = "formats of equal size: which one comes first in FORMATS?"

MISTAKES: tuple[tuple[str, str, Choose], ...] = (
    ("widest_always", "the cheapest format that is good enough: which one is tried first?", lambda v, t: "fp32"),
    ("one_format_for_all", "what the choice depends on: the values, and the tolerance", lambda v, t: "bf16"),
    ("one_format_for_all", "what the choice depends on: the values, and the tolerance", lambda v, t: "fp16"),
    (
        "zeros_not_left_out",
        "0 / 0 is NaN, and NaN is within no tolerance: which values have a relative error?",
        first_that(ways.with_zeros),
    ),
    (
        "tolerance_itself_refused",
        "an error of the size of the tolerance is allowed: at most, not less than",
        first_that(ways.strictly_below),
    ),
    (
        "relative_to_the_rounded_value",
        join_sentences("the error is divided by the rounded value in place of the value itself", MEASURED),
        first_that(ways.relative_to_rounded),
    ),
    (
        "clamped_first",
        "a value beyond the range, cut to its end before it is rounded: what becomes of it without that?",
        first_that(ways.clamped),
    ),
    ("scaled_first", "a scale is not asked for: what becomes of the values as they are?", first_that(ways.scaled)),
    (
        "median_error",
        join_sentences("half of the errors may be larger than the median", _RELATIVE),
        first_that(ways.median),
    ),
    ("smallest_error", "one value that is kept is not enough: do all of them decide?", first_that(ways.smallest_error)),
    ("most_values", "99 of 100 values are not every value: one lost value decides", first_that(ways.most_values)),
    ("first_value_alone", "one value is looked at: do all of them decide?", first_that(ways.first_value)),
    (
        "largest_value_alone",
        "the largest value alone is rounded: do small ones come back?",
        first_that(ways.largest_value),
    ),
    (
        "smallest_value_alone",
        "the smallest value alone is rounded: do large ones come back?",
        first_that(ways.smallest_value),
    ),
    ("most_exact_format", "the format with the smallest error: is it the cheapest one?", ways.smallest_of_all),
    ("in_percent", "the tolerance is a share, no percentage: what is multiplied by 100?", first_that(ways.in_percent)),
    ("errors_in_half", "the errors themselves: in which format are they computed?", first_that(ways.errors_in_half)),
    (
        "vanished_values_left_out",
        "values that became 0: are their errors among those that decide?",
        first_that(ways.vanished_unless_all),
    ),
    (
        "infinite_values_left_out",
        "values that became infinite: are their errors among those that decide?",
        first_that(ways.infinite_left_out),
    ),
    (
        "vanished_values_left_out",
        "values that became 0: are their errors among those that decide?",
        first_that(ways.vanished_left_out),
    ),
    (
        "sign_of_the_error",
        "errors of both signs: a value that is rounded down has an error too",
        first_that(ways.signed_error),
    ),
    ("sign_of_the_error", "errors of both signs: which of them does a maximum see?", first_that(ways.signed_by_value)),
    ("negative_values_left_out", "values below 0: they have relative errors too", first_that(ways.positive_values)),
    (
        "absolute_part",
        "a small number beside the error or the value: next to 1e-10 it counts",
        first_that(ways.with_absolute_part),
    ),
    (
        "absolute_part",
        "a small number beside the error or the value: next to 1e-10 it counts",
        first_that(ways.with_epsilon),
    ),
    ("absolute_error", _RELATIVE, first_that(ways.absolute_error)),
    ("relative_to_the_largest", _RELATIVE, first_that(ways.over_largest)),
    (
        "relative_to_the_norm",
        join_sentences("a norm does not see a value that vanishes", _RELATIVE),
        first_that(ways.norm_of_errors),
    ),
    ("mean_error", join_sentences("one lost value among many exact ones", _RELATIVE), first_that(ways.mean_error)),
    (
        "lost_values_left_out",
        "values that became 0 or infinite: are they among the errors?",
        first_that(ways.finite_only),
    ),
    ("range_alone", "range is one half of it: how many digits does a value keep?", first_that(ways.in_range)),
    (
        "largest_alone",
        "the largest value fits: what becomes of the smallest, and of the digits?",
        first_that(ways.largest_in_range),
    ),
    ("largest_without_sign", "a large negative value", first_that(ways.largest_without_sign)),
    (
        "precision_alone",
        "precision is one half of it: are the values within the format's range?",
        first_that(ways.fine_enough),
    ),
    (
        "lower_end_left_out",
        "the largest value fits, and the bound too: what becomes of the smallest value?",
        first_that(ways.bound_without_lower_end),
    ),
    (
        "bound_in_place_of_error",
        f"eps / 2 is a bound, and these values may be rounded better: {MEASURED}",
        first_that(ways.bound),
    ),
    ("eps_for_error", f"eps is the spacing at 1, twice the largest error: {MEASURED}", first_that(ways.bound_of_eps)),
    ("half_the_tolerance", "the tolerance itself: is it compared with a half of it?", first_that(ways.within_half)),
    ("fp8_left_out", "the formats of 8 bits come first", first_that(ways.right, FORMAT_NAMES[2:])),
    (
        "order_within_a_size",
        _ORDER,
        first_that(ways.right, ("e5m2", "e4m3", "bf16", "fp16", "fp32")),
    ),
    (
        "bf16_before_fp16",
        _ORDER,
        first_that(ways.right, ("e4m3", "e5m2", "bf16", "fp16", "fp32")),
    ),
    (
        "e5m2_before_e4m3",
        _ORDER,
        first_that(ways.right, ("e5m2", "e4m3", "fp16", "bf16", "fp32")),
    ),
)
