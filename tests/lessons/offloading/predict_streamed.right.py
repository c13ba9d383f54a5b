# %% answer="two_clocks"
def predict_streamed(
    layer_bytes: list[int], forward_seconds: list[float], bytes_per_second: float, prefetch: bool
) -> tuple[int, float]:
    count = len(layer_bytes)
    order = [*range(count), *range(count - 1, -1, -1)]
    arrived, began, done, peak, before = {}, 0.0, 0.0, 0, None
    for place, layer in enumerate(order):
        if layer != before:
            arrived[place] = (began if prefetch else done) + layer_bytes[layer] / bytes_per_second
            peak = max(peak, layer_bytes[layer] + (layer_bytes[before] if prefetch and before is not None else 0))
        began = max(done, arrived.get(place, 0.0))
        done, before = began + forward_seconds[layer] * (1 + (place >= count)), layer
    return peak, done


# %% answer="two_sums"
def predict_streamed(
    layer_bytes: list[int], forward_seconds: list[float], bytes_per_second: float, prefetch: bool
) -> list:
    fetches = [size / bytes_per_second for size in layer_bytes]
    if not prefetch:
        return [max(layer_bytes), 2 * sum(fetches) - fetches[-1] + 3 * sum(forward_seconds)]
    out = sum(max(now, fetch) for now, fetch in zip(forward_seconds, fetches[1:], strict=False))
    back = sum(max(2 * now, fetch) for now, fetch in zip(forward_seconds[1:], fetches, strict=False))
    pairs = [sum(layer_bytes[at : at + 2]) for at in range(max(1, len(layer_bytes) - 1))]
    return [max(pairs), fetches[0] + out + forward_seconds[-1] + back + 2 * forward_seconds[0]]


# %% answer="with_tensors"
def predict_streamed(
    layer_bytes: list[int], forward_seconds: list[float], bytes_per_second: float, prefetch: bool
) -> tuple[int, float]:
    sizes = torch.tensor(layer_bytes, dtype=torch.float64)
    times = torch.tensor(forward_seconds, dtype=torch.float64)
    there = torch.cat([sizes[1:], torch.zeros(1), sizes.flip(0)[1:], torch.zeros(1)])
    computing = torch.cat([times, 2 * times.flip(0)])
    fetching = there / bytes_per_second
    slots = torch.maximum(computing, fetching) if prefetch else computing + fetching
    held = torch.cat([sizes, sizes.flip(0)]) + prefetch * there
    return held.max(), slots.sum() + sizes[0] / bytes_per_second
