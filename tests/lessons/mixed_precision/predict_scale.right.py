# %% answer="by_rows"
# Source: rows of good updates between infinities
# Each row between two infinities doubles as often as the interval fits into it.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    from itertools import groupby

    exponent = 0
    for is_inf, members in groupby(found_inf, key=bool):
        count = len(list(members))
        exponent += -count if is_inf else count // growth_interval
    return start_scale * 2.0**exponent


# %% answer="library"
# Source: PyTorch's own scaler
# GradScaler is asked for its scale after the same history.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scaler = torch.amp.GradScaler("cpu", init_scale=start_scale, growth_interval=growth_interval)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scaler.scale(torch.ones(1))
    for is_inf in found_inf:
        weight.grad = torch.full((1,), float("inf") if is_inf else 1.0)
        scaler.step(optimizer)
        scaler.update()
    return scaler.get_scale()


# %% answer="with_numpy"
# Source: numbers as numpy has them
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    import numpy

    scale, good_updates = numpy.float64(start_scale), 0
    for is_inf in found_inf:
        good_updates = (good_updates + 1) * (not is_inf)
        scale *= 0.5 if is_inf else 2.0 if good_updates == growth_interval else 1.0
        good_updates %= growth_interval
    return scale


# %% answer="with_recursion"
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
