"""The figures of the class report, against values computed by hand and against NumPy."""

from __future__ import annotations

import random

import numpy
import pytest

from grader.classroom.pages.class_report.statistics import (
    correlation,
    counts_in_bins,
    fisher_interval,
    paired_difference,
    percentile,
    upper_lower_discrimination,
)


def test_correlation_by_hand() -> None:
    # deviations -1.5 -0.5 0.5 1.5 and -1.5 0.5 -0.5 1.5: products sum to 4, squares to 5 each
    assert correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert correlation([0, 1], [1, 0]) == -1
    assert correlation([1, 1, 1], [1, 2, 3]) is None


def test_interval_by_hand() -> None:
    # artanh 0.5 = 0.549306; 1.959964 / sqrt(28 - 3) = 0.391993; tanh 0.157313 = 0.156028; tanh 0.941299 = 0.735818
    assert fisher_interval(0.5, 28) == pytest.approx((0.156028, 0.735818), abs=1e-5)
    assert fisher_interval(1.0, 30) == (1.0, 1.0)
    low, high = fisher_interval(0.0, 30)
    assert (round(low, 2), round(high, 2)) == (-0.36, 0.36)
    with pytest.raises(ValueError, match="four pairs"):
        fisher_interval(0.5, 3)


def test_interval_holds_the_true_correlation_about_95_times_in_100() -> None:
    draw, held, tries, truth = numpy.random.default_rng(5), 0, 2000, 0.6
    for _ in range(tries):
        pairs = draw.multivariate_normal([0, 0], [[1, truth], [truth, 1]], size=40)
        r = correlation(pairs[:, 0].tolist(), pairs[:, 1].tolist())
        assert r is not None
        low, high = fisher_interval(r, 40)
        held += low <= truth <= high
    assert 0.93 < held / tries < 0.97


def test_upper_less_lower_by_hand() -> None:
    # ten students, round(2.7) = 3 in each group: totals 10 9 8 and 3 2 1
    total = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert upper_lower_discrimination([1, 1, 0, 1, 0, 1, 0, 0, 1, 0], total) == pytest.approx(2 / 3 - 1 / 3)


def test_students_tied_at_the_edge_share_the_seats() -> None:
    # upper: 9, then two of the four with 5, of whom half passed: (1 + 2 * 0.5) / 3; lower: 1 1 and one of the four
    total, item = [9, 5, 5, 5, 5, 1, 1, 5, 5, 5], [1, 1, 1, 0, 0, 0, 0, 1, 0, 0]
    upper, lower = (1 + 2 * 3 / 7) / 3, (0 + 3 / 7) / 3
    assert upper_lower_discrimination(item, total) == pytest.approx(upper - lower)
    order = list(range(10))
    random.Random(2).shuffle(order)
    shuffled = upper_lower_discrimination([item[at] for at in order], [total[at] for at in order])
    assert shuffled == pytest.approx(upper - lower)


def test_bins_hold_their_lower_edge_and_the_last_both() -> None:
    assert counts_in_bins([0, 9.99, 10, 60, 100], 10, 0, 100) == [2, 1, 0, 0, 0, 0, 1, 0, 0, 1]


def test_numpy_agrees() -> None:
    draw = random.Random(11)
    for n in (2, 5, 31):
        first, second = [draw.random() for _ in range(n)], [draw.random() for _ in range(n)]
        assert correlation(first, second) == pytest.approx(numpy.corrcoef(first, second)[0, 1])
        for percent in (1, 25, 50, 90, 99):
            assert percentile(first, percent) == pytest.approx(numpy.percentile(first, percent))
    assert percentile([3.0], 25) == 3.0
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_the_interval_of_a_paired_difference_is_that_of_the_published_example() -> None:
    # 1,600 voters asked twice: 944 approved, then 880; A. Agresti, Categorical Data Analysis (2002), section 10.1.1,
    # gives -0.04 with the interval (-0.06, -0.02)
    low, difference, high = paired_difference(86, 150, 1600)
    assert (round(low, 2), round(difference, 2), round(high, 2)) == (-0.06, -0.04, -0.02)


def test_a_class_in_which_all_learned_the_idea_has_an_interval_of_some_width() -> None:
    low, difference, high = paired_difference(10, 0, 10)
    assert difference == 1 and 0.4 < low < 0.75 and high == 1
    assert paired_difference(0, 10, 10) == (-high, -1, -low)
