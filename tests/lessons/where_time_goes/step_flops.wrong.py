# Wrong answers to step_flops.
# Not here: library_shortcut, because PyTorch's counter has an entry of its own, counted_by_pytorch.

# %% answer="plain_baseline" code="six_times_parameters"
# Source: the rule 6 N D, from scaling laws
def step_flops(layers, width, heads, vocabulary, batch, time, is_checkpointed):
    parameters = layers * 12 * width**2 + vocabulary * width
    return 6 * parameters * batch * time


# %% answer="hard_coded" code="visible_case_hard_coded"
# Source: the number that the notebook prints
def step_flops(layers, width, heads, vocabulary, batch, time, is_checkpointed):
    return 264_241_152


# %% answer="copied_from_lesson" code="flops_counted"
# Source: the demonstration that counts the lesson's model
def step_flops(layers, width, heads, vocabulary, batch, time, is_checkpointed):
    model = make_transformer(layers, width, heads, vocabulary=vocabulary, context=time).to(device)
    tokens = torch.zeros(batch, time, dtype=torch.long, device=device)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(tokens).logsumexp(-1).mean().backward()
    return counter.get_total_flops()


# %% answer="counted_by_pytorch" code="flops_counted"
# Source: torch.utils.flop_counter, as its documentation shows it
def step_flops(layers, width, heads, vocabulary, batch, time, is_checkpointed):
    model = make_transformer(layers, width, heads, vocabulary=vocabulary, context=time)
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(batch, time, dtype=torch.long)).sum().backward()
    return counter.get_total_flops()


# %% edit="embeddings_in_six_n_d" code="lookup_counted"
# Source: N as sum(p.numel() for p in model.parameters()), with attention added
# -     head = batch * time * 2 * width * vocabulary
# +     head = batch * time * 2 * width * (vocabulary + vocabulary)

# %% edit="macs" code="multiply_adds_counted_once"
# Source: profilers that report multiply-accumulates as FLOPs, such as fvcore and thop
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     return (3 * (blocks + head) + (blocks if is_checkpointed else 0)) / 2

# %% edit="forward_alone" code="forward_only"
# Source: the FLOPs of inference
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     return blocks + head

# %% edit="backward_once" code="backward_as_long_as_forward"
# Source: backward mirrors forward
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     return 2 * (blocks + head) + (blocks if is_checkpointed else 0)

# %% edit="no_scores" code="attention_forgotten"
# Source: the weights alone, with checkpointing
# -     block = 2 * 12 * width**2 + 2 * 2 * time * width  # for one token: weights, then scores and values
# +     block = 2 * 12 * width**2

# %% edit="causal_half" code="half_of_attention"
# Source: flash attention's count of a causal mask
# -     block = 2 * 12 * width**2 + 2 * 2 * time * width  # for one token: weights, then scores and values
# +     block = 2 * 12 * width**2 + 2 * 2 * (time / 2) * width

# %% edit="times_heads" code="attention_per_head_at_full_width"
# Source: each head is taken for a full attention
# -     block = 2 * 12 * width**2 + 2 * 2 * time * width  # for one token: weights, then scores and values
# +     block = 2 * 12 * width**2 + heads * 2 * 2 * time * width

# %% edit="square_twice" code="time_squared_for_each_token"
# Source: "attention is quadratic in time", multiplied by the tokens
# -     block = 2 * 12 * width**2 + 2 * 2 * time * width  # for one token: weights, then scores and values
# +     block = 2 * 12 * width**2 + 2 * 2 * time * time * width

# %% edit="no_head" code="head_forgotten"
# Source: the blocks are the model
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     return 3 * blocks + (blocks if is_checkpointed else 0)

# %% edit="fused_projection_as_one" code="weights_of_a_block_miscounted"
# Source: the projection to queries, keys and values counted as width x width
# -     block = 2 * 12 * width**2 + 2 * 2 * time * width  # for one token: weights, then scores and values
# +     block = 2 * (1 + 1 + 8) * width**2 + 2 * 2 * time * width

# %% edit="plain_step" code="checkpointing_ignored"
# Source: MFU counts no recomputation
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     return 3 * (blocks + head)

# %% edit="four_passes" code="head_repeated"
# Source: "a third more FLOPs", of the whole model
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     return (4 if is_checkpointed else 3) * (blocks + head)


# %% edit="early_stop" code="part_of_a_block_repeated"
# Source: the counter on a checkpointed model, which stops early
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     again = batch * time * layers * (16 * width**2 + 4 * time * width)
# +     return 3 * (blocks + head) + (again if is_checkpointed else 0)

# %% edit="five_products" code="products_of_attention_backward"
# Source: the fused backward kernel's five products
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     fifth = batch * time * layers * 2 * time * width
# +     return 3 * (blocks + head) + fifth + (blocks if is_checkpointed else 0)


# %% answer="one_token" code="one_sequence_counted"
# Source: the notebook's cell on GPT-2, which counts one token
def step_flops(layers, width, heads, vocabulary, batch, time, is_checkpointed):
    return 3 * (layers * (24 * width**2 + 4 * time * width) + 2 * width * vocabulary)


# %% edit="repeated_twice" code="checkpointed_step_alone"
# Source: the forward pass counted again for each of the two backward products
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     return 3 * (blocks + head) + (2 * blocks if is_checkpointed else 0)

# %% edit="backward_half_as_long" code="passes_miscounted"
# Source: the factor of two between the passes, the wrong way round
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     return 2.5 * (blocks + head) + (blocks if is_checkpointed else 0)

# %% edit="optimizer_counted" code="more_than_the_products"
# Source: a training step ends with the optimizer's
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     optimizer = 15 * (12 * layers * width**2 + vocabulary * width)
# +     return 3 * (blocks + head) + (blocks if is_checkpointed else 0) + optimizer

# %% edit="head_backward_once" code="less_than_the_products"
# Source: the gradient of the head's weight forgotten
# -     return 3 * (blocks + head) + (blocks if is_checkpointed else 0)
# +     return 3 * blocks + 2 * head + (blocks if is_checkpointed else 0)

# %% edit="width_for_time" code="product_of_another_size"
# Source: scores taken for a product of the width with itself
# -     block = 2 * 12 * width**2 + 2 * 2 * time * width  # for one token: weights, then scores and values
# +     block = 2 * 12 * width**2 + 2 * 2 * width**2
