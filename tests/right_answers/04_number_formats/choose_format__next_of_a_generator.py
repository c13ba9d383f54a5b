# Source: a generator
# The first name of those that suit.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    exact = values[values.nonzero(as_tuple=True)].double()

    def error(dtype):
        return ((exact.to(dtype).double() / exact) - 1).abs().max().item()

    return next(name for name in FORMATS if error(FORMATS[name]) <= tolerance)
