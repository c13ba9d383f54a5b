# Right answers to cache_bytes.

# %% answer="layer_by_layer"
def cache_bytes(layers, heads, key_heads, head_dim, time, window, global_every, number_bytes):
    total = 0
    for layer in range(1, layers + 1):
        kept = time if layer % global_every == 0 else min(time, window)
        total += 2 * kept * key_heads * head_dim * number_bytes
    return total


# %% answer="by_periods"
def cache_bytes(layers, heads, key_heads, head_dim, time, window, global_every, number_bytes):
    period = time + (global_every - 1) * min(time, window)
    return layers / global_every * period * key_heads * head_dim * number_bytes * 2


# %% answer="meta_tensors"
def cache_bytes(layers, heads, key_heads, head_dim, time, window, global_every, number_bytes):
    seen = torch.full((layers,), min(window, time))
    seen[global_every - 1 :: global_every] = time
    return int(seen.sum()) * 2 * key_heads * head_dim * number_bytes
