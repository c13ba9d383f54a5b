# %% answer="all_within"
# Source: a comparison for each value
# Every difference is within its own tolerance; NaN is not.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    chosen = ""
    for name in FORMATS:
        rounded = values.to(FORMATS[name]).to(values.dtype)
        is_within = (rounded - values).abs() <= tolerance * values.abs()
        if not chosen and bool(is_within.all()):
            chosen = name
    return chosen


# %% answer="next_of_a_generator"
# Source: a generator
# The first name of those that suit.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    exact = values[values.nonzero(as_tuple=True)].double()

    def error(dtype):
        return ((exact.to(dtype).double() / exact) - 1).abs().max().item()

    return next(name for name in FORMATS if error(FORMATS[name]) <= tolerance)


# %% answer="worst_value"
# Source: the worst error of each format, then a choice
# A dict of errors, read in order.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    sizes = values.flatten().abs()
    sizes = sizes[sizes > 0]
    worst = {}
    for name, dtype in FORMATS.items():
        worst[name] = torch.amax((sizes.to(dtype).to(torch.float32) - sizes).abs() / sizes).item()
    suits = [name for name, error in worst.items() if error <= tolerance]
    return suits[0]
