# Right answers to step_flops.


# %% answer="product_by_product"
def step_flops(layers, width, heads, vocabulary, batch, time, is_checkpointed):
    def product(m, k, n):
        return 2 * m * k * n

    rows, head_width = batch * time, width // heads
    block = product(rows, width, 3 * width) + product(rows, width, width)
    block += product(rows, width, 4 * width) + product(rows, 4 * width, width)
    block += batch * heads * (product(time, head_width, time) + product(time, time, head_width))
    forward = layers * block + product(rows, width, vocabulary)
    return 3 * forward + is_checkpointed * layers * block


# %% answer="six_n_d_with_attention"
def step_flops(layers, width, heads, vocabulary, batch, time, is_checkpointed):
    tokens = batch * time
    in_blocks = layers * 12 * width * width
    flops = 6.0 * (in_blocks + vocabulary * width) * tokens + 12.0 * layers * width * time * tokens
    if is_checkpointed:
        flops += (2.0 * in_blocks + 4.0 * layers * width * time) * tokens
    return flops


# %% answer="tensor_of_terms"
def step_flops(layers, width, heads, vocabulary, batch, time, is_checkpointed):
    passes = torch.tensor([4 if is_checkpointed else 3, 4 if is_checkpointed else 3, 3], dtype=torch.float64)
    terms = [layers * 24 * width**2, layers * 4 * time * width, 2 * width * vocabulary]
    return (passes * torch.tensor(terms, dtype=torch.float64)).sum() * batch * time
