"""The figures of the class report as pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

FEWEST = 30  # students, below which a correlation says nothing: its interval at r = 0 and n = 30 is -0.36 to 0.36
NORMAL_95 = 1.959963984540054  # standard deviations on either side that hold 95 % of a normal distribution
GROUP_SHARE = 0.27  # of the class, in the upper and in the lower group


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share lies, with linear interpolation between neighbours.

    Raises:
        ValueError: if there are no values.

    Source: NumPy documentation, numpy.quantile, method "linear".
    """
    if not values:
        raise ValueError("a quantile of no values")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def counts_in_bins(values: Sequence[float], bins: int, low: float, high: float) -> list[int]:
    """Count values in bins of equal width; each bin holds its lower edge, the last one both."""
    counts = [0] * bins
    for value in values:
        place = math.floor((value - low) / (high - low) * bins + 1e-9)
        counts[min(max(place, 0), bins - 1)] += 1
    return counts


def correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Pearson's r; None where one of the two does not vary."""
    n = len(first)
    if n < 2:
        return None
    first_mean, second_mean = math.fsum(first) / n, math.fsum(second) / n
    products = math.fsum((a - first_mean) * (b - second_mean) for a, b in zip(first, second, strict=True))
    squares = [
        math.fsum((a - mean) ** 2 for a in values) for values, mean in ((first, first_mean), (second, second_mean))
    ]
    if min(squares) < 1e-12:
        return None
    return max(-1.0, min(1.0, products / math.sqrt(squares[0] * squares[1])))


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
    return (math.fsum(above) + (seats - len(above)) * math.fsum(tied) / len(tied)) / seats
