"""Compute statistics of the class report from plain numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

FEWEST = 30  # students, below which a correlation says nothing: its interval at r = 0 and n = 30 is -0.36 to 0.36
NORMAL_95 = statistics.NormalDist().inv_cdf(0.975)  # standard deviations on either side that hold 95 %
GROUP_SHARE = 0.27  # of the class, in the upper and in the lower group


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value below which this percentage lies, from 1 to 99, with linear interpolation between neighbours.

    Raises:
        ValueError: if there are no values.
    """
    if not values:
        raise ValueError("a percentile of no values")
    return statistics.quantiles([*values, *values[:1]][: max(2, len(values))], n=100, method="inclusive")[percent - 1]


def counts_in_bins(values: Sequence[float], bins: int, low: float, high: float) -> list[int]:
    """Count values in bins of equal width; each bin holds its lower edge, the last one both."""
    counts = [0] * bins
    for value in values:
        place = math.floor((value - low) / (high - low) * bins + 1e-9)
        counts[min(max(place, 0), bins - 1)] += 1
    return counts


def correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Pearson's r; None where one of the two does not vary."""
    try:
        return max(-1.0, min(1.0, statistics.correlation(first, second)))
    except statistics.StatisticsError:
        return None


def fisher_interval(r: float, n: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a correlation of n pairs, by Fisher's z.

    Raises:
        ValueError: if there are fewer than four pairs.

    Source: R. A. Fisher, Statistical Methods for Research Workers, the transformation z = artanh r.
    """
    if n < 4:
        raise ValueError("an interval needs four pairs")
    if abs(r) >= 1:
        return r, r
    half = NORMAL_95 / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def paired_difference(gained: int, lost: int, n: int) -> tuple[float, float, float]:
    """Return how much a share rose between two answers of the same n people, with its 95 % confidence interval.

    Args:
        gained: Who was wrong the first time and right the second.
        lost: Who was right the first time and wrong the second.
        n: All who answered twice.

    Returns:
        Low end, difference, high end, each from -1 to 1.

    Source: A. Agresti and Y. Min, Simple improved confidence intervals for comparing matched proportions, Statistics in
    Medicine 24 (2005): half an observation is added to each of the four cells before Wald's interval is made.
    """
    counted = n + 2
    middle = (gained - lost) / counted
    half = NORMAL_95 * math.sqrt((gained + lost + 1) - (gained - lost) ** 2 / counted) / counted
    return max(-1.0, middle - half), (gained - lost) / n, min(1.0, middle + half)


def upper_lower_discrimination(item: Sequence[float], total: Sequence[float]) -> float:
    """Return how much more the best 27 % by total earn on an item than the worst 27 %.

    Students who are tied at the edge of a group share its last seats, so that the order of names plays no part.

    Args:
        item: What each student earned on the item, 0 to 1.
        total: What each student earned in all.

    Returns:
        Between -1 and 1.
    """
    seats = max(1, round(GROUP_SHARE * len(total)))
    upper = _mean_of_best(item, total, seats)
    return upper - _mean_of_best(item, [-value for value in total], seats)


def _mean_of_best(item: Sequence[float], total: Sequence[float], seats: int) -> float:
    edge = sorted(total, reverse=True)[seats - 1]
    above = [earned for earned, value in zip(item, total, strict=True) if value > edge]
    tied = [earned for earned, value in zip(item, total, strict=True) if value == edge]
    return (math.fsum(above) + (seats - len(above)) * statistics.fmean(tied)) / seats
