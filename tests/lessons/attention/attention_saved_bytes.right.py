# Right answers to attention_saved_bytes.

# %% answer="shapes_listed"
def attention_saved_bytes(is_fused, rows, heads, time, head_dim, number_bytes):
    from math import prod

    tensor, matrix = (rows, heads, time, head_dim), (rows, heads, time, time)
    kept = [(tensor, number_bytes)] * 3
    kept += [(tensor, number_bytes), ((rows, heads, time), 4)] if is_fused else [(matrix, number_bytes)]
    return sum(prod(shape) * size for shape, size in kept)


# %% answer="by_query"
def attention_saved_bytes(is_fused, rows, heads, time, head_dim, number_bytes):
    of_a_query = 4 * head_dim * number_bytes + 4 if is_fused else (3 * head_dim + time) * number_bytes
    return rows * heads * time * of_a_query


# %% answer="meta_tensors"
def attention_saved_bytes(is_fused, rows, heads, time, head_dim, number_bytes):
    dtype = {2: torch.float16, 4: torch.float32}[number_bytes]
    query = torch.empty(rows, heads, time, head_dim, dtype=dtype, device="meta")
    kept = [query, query, query]
    if is_fused:
        kept += [query, torch.empty(rows, heads, time, device="meta")]
    else:
        kept.append(query @ query.mT)
    return sum(tensor.numel() * tensor.element_size() for tensor in kept)
