# Source: rows of good updates between infinities
# Each row between two infinities doubles as often as the interval fits into it.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    from itertools import groupby

    exponent = 0
    for is_inf, members in groupby(found_inf, key=bool):
        count = len(list(members))
        exponent += -count if is_inf else count // growth_interval
    return start_scale * 2.0**exponent
