# Right answers to predict_cast.

# %% answer="normal_distribution"
def predict_cast(sigma, largest, dtype):
    info = torch.finfo(dtype)
    scale = info.max / largest
    flushed = info.tiny * info.eps / scale * 0.5
    normal = torch.distributions.Normal(torch.zeros((), dtype=torch.double), sigma)
    return (
        scale,
        flushed,
        float(2 * normal.cdf(torch.tensor(flushed)) - 1)
        if flushed > 0.01 * sigma
        else float(2 * flushed / sigma / math.sqrt(2 * math.pi)),
    )


# %% answer="by_name"
def predict_cast(sigma, largest, dtype):
    largest_of, smallest_of = {
        torch.float8_e4m3fn: (448, 2**-9),
        torch.float8_e5m2: (57_344, 2**-16),
        torch.float16: (65_504, 2**-24),
        torch.bfloat16: (3.3895e38, 2**-133),
    }[dtype]
    flushed = smallest_of * largest / largest_of / 2
    return largest_of / largest, flushed, math.erf(flushed / (sigma * 2**0.5))


# %% answer="list_returned"
def predict_cast(sigma, largest, dtype):
    limits = torch.finfo(dtype)
    step = limits.smallest_normal * limits.eps * largest / limits.max
    return [
        limits.max / largest,
        step / 2,
        1 - math.erfc(step / 2 / sigma / math.sqrt(2)) if step > sigma else math.erf(step / 2 / sigma / math.sqrt(2)),
    ]
