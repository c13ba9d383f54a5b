# Source: functional style
# One call for each update.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    def after(scale, good_updates, rest):
        if not rest:
            return scale
        if rest[0]:
            return after(scale / 2, 0, rest[1:])
        is_due = good_updates + 1 == growth_interval
        return after(scale * 2 if is_due else scale, 0 if is_due else good_updates + 1, rest[1:])

    return after(start_scale, 0, found_inf)
