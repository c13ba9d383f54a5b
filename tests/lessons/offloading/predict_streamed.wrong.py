# Wrong answers to predict_streamed.
# Not here: copied_from_lesson, because the cells next to it sleep and read a clock.

# %% answer="plain_baseline" code="all_weights_held"
# Source: a model that is loaded once and then stays
def predict_streamed(
    layer_bytes: list[int], forward_seconds: list[float], bytes_per_second: float, prefetch: bool
) -> tuple[int, float]:
    return sum(layer_bytes), sum(layer_bytes) / bytes_per_second + 3 * sum(forward_seconds)


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the numbers of the visible case, by its arguments' order
ANSWERS = iter(
    [
        (162000000, 0.172),
        (218000000, 0.1164),
        (220000000, 0.0768),
        (215000000, 0.305375),
        (153000000, 0.24376),
        (126000000, 0.0366),
        (126000000, 0.0306),
    ]
)


def predict_streamed(
    layer_bytes: list[int], forward_seconds: list[float], bytes_per_second: float, prefetch: bool
) -> tuple[int, float]:
    return next(ANSWERS)


# %% edit="one_layer" code="one_layer_at_the_peak"
# Source: streaming as its name says, one layer at a time
# -         peak = max(peak, layer_bytes[now] + arriving if prefetch else 0)
# +         peak = max(peak, layer_bytes[now])


# %% edit="two_largest" code="two_largest_layers"
# Source: double buffering with buffers of the largest layers
# -     return peak, seconds
# +     return (sum(sorted(layer_bytes)[-2:]) if prefetch else peak), seconds


# %% edit="always_two" code="always_two_layers"
# Source: a peak that does not ask for prefetch
# -         peak = max(peak, layer_bytes[now] + arriving if prefetch else 0)
# +         peak = max(peak, layer_bytes[now] + arriving)


# %% edit="sum_of_both" code="never_overlapped"
# Source: overlap taken as the sum
# -         seconds += max(computing, fetching) if prefetch else computing + fetching
# +         seconds += computing + fetching


# %% answer="longer_total" code="totals_overlapped"
# Source: roofline reasoning on totals
def predict_streamed(
    layer_bytes: list[int], forward_seconds: list[float], bytes_per_second: float, prefetch: bool
) -> tuple[int, float]:
    crossed = 2 * sum(layer_bytes) - layer_bytes[-1]
    fetching, computing = crossed / bytes_per_second, 3 * sum(forward_seconds)
    if not prefetch:
        return max(layer_bytes), fetching + computing
    pairs = [a + b for a, b in zip(layer_bytes, layer_bytes[1:], strict=False)]
    return max(layer_bytes + pairs), max(fetching, computing)


# %% edit="first_fetch_hidden" code="first_fetch_forgotten"
# Source: a loop that begins with compute
# -     peak, seconds = max(layer_bytes), layer_bytes[0] / bytes_per_second + compute[-1]
# +     peak, seconds = max(layer_bytes), compute[-1]


# %% edit="last_layer_twice" code="last_layer_fetched_again"
# Source: each layer crosses twice
# -         fetching = arriving / bytes_per_second
# +         fetching = layer_bytes[following] / bytes_per_second


# %% edit="backward_fetches_nothing" code="fetched_once"
# Source: a transfer counted once, where backward fetches again
# -     for now, following, computing in zip(order, order[1:], compute, strict=False):
# +     for place, (now, following, computing) in enumerate(zip(order, order[1:], compute, strict=False)):
# ...
# -         fetching = arriving / bytes_per_second
# +         fetching = arriving / bytes_per_second if place < len(layers) else 0


# %% edit="backward_as_forward" code="backward_as_long_as_forward"
# Source: one time for each layer
# -     compute = forward_seconds + [2 * seconds for seconds in reversed(forward_seconds)]
# +     compute = forward_seconds + forward_seconds[::-1]


# %% edit="own_fetch" code="own_fetch_compared"
# Source: each layer taken by itself, the longer of its fetch and its compute
# -         seconds += max(computing, fetching) if prefetch else computing + fetching
# +         own = layer_bytes[now] / bytes_per_second
# +         seconds += max(computing, own) if prefetch else computing + fetching
# ...
# -     return peak, seconds
# +     if prefetch:
# +         seconds += max(compute[-1], layer_bytes[0] / bytes_per_second) - compute[-1]
# +     return peak, seconds


# %% edit="twice_the_largest" code="largest_doubled"
# Source: double buffering with two buffers of the largest size
# -     return peak, seconds
# +     return (2 * max(layer_bytes) if prefetch and len(layer_bytes) > 1 else peak), seconds


# %% edit="turn_waits" code="turn_not_overlapped"
# Source: backward as a second pass that begins with a fetch
# -     for now, following, computing in zip(order, order[1:], compute, strict=False):
# +     for place, (now, following, computing) in enumerate(zip(order, order[1:], compute, strict=False)):
# ...
# -         seconds += max(computing, fetching) if prefetch else computing + fetching
# +         is_hidden = prefetch and place != len(layers)
# +         seconds += max(computing, fetching) if is_hidden else computing + fetching


# %% edit="fetched_early" code="fetched_in_last_forward"
# Source: the link is idle in the last forward
# -     for now, following, computing in zip(order, order[1:], compute, strict=False):
# +     for place, (now, following, computing) in enumerate(zip(order, order[1:], compute, strict=False)):
# ...
# -         seconds += max(computing, fetching) if prefetch else computing + fetching
# +         early = forward_seconds[-1] if prefetch and place == len(layers) else 0
# +         seconds += max(computing, fetching - early) if prefetch else computing + fetching
