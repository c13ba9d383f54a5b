# Wrong answers to predict_plan.
# Not here: library_shortcut, because it is computed, not written by hand.

# %% answer="plain_baseline" code="scales_free"
# Source: four bits are four bits, and an update of all weights
def predict_plan(layers, rank, block_size, second_block_size):
    trained = sum(inputs * outputs for inputs, outputs, _ in layers)
    return {"bits": 4.0, "trained": trained, "update_bytes": 12 * trained}


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the figures of the paper
def predict_plan(layers, rank, block_size, second_block_size):
    weights, bits, trained = 0, 0, 0
    from grader.lessons.quantization_and_lora.plans import plan_cases

    drawn = [case for case in plan_cases(0) if len(case.layers) == len(layers)]
    case = next((c for c in drawn if (c.second_block_size is None) == (second_block_size is None)), plan_cases(0)[0])
    for inputs, outputs, is_adapted in case.layers:
        scales = -(-inputs * outputs // case.block_size)
        weights += inputs * outputs
        second = case.second_block_size
        bits += 4 * inputs * outputs + (8 * scales + 32 * -(-scales // second) if second else 32 * scales)
        trained += case.rank * (inputs + outputs) * is_adapted
    return {"bits": bits / weights, "trained": trained, "update_bytes": 12 * trained}


# %% answer="copied_from_lesson" code="short_block_without_scale"
# Source: the formula of the paper, 4 + 8 / 64 + 32 / (64 x 256)
def predict_plan(layers, rank, block_size, second_block_size):
    bits = 4 + 32 / block_size
    if second_block_size:
        bits = 4 + 8 / block_size + 32 / (block_size * second_block_size)
    trained = sum(rank * (inputs + outputs) for inputs, outputs, has_adapter in layers if has_adapter)
    return {"bits": bits, "trained": trained, "update_bytes": 12 * trained}


# %% edit="floor" code="short_block_without_scale"
# Source: floor division
# -         scales = -(-inputs * outputs // block_size)
# +         scales = inputs * outputs // block_size

# %% edit="second_ignored" code="second_level_forgotten"
# Source: the second level not read
# -         bits += 8 * scales + 32 * -(-scales // second_block_size) if second_block_size else 32 * scales
# +         bits += 32 * scales

# %% edit="bytes_alone" code="second_scales_forgotten"
# Source: the scale of the scales forgotten
# -         bits += 8 * scales + 32 * -(-scales // second_block_size) if second_block_size else 32 * scales
# +         bits += 8 * scales if second_block_size else 32 * scales

# %% edit="both_kept" code="first_scales_kept"
# Source: the scales in both formats
# -         bits += 8 * scales + 32 * -(-scales // second_block_size) if second_block_size else 32 * scales
# +         bits += 40 * scales + 32 * -(-scales // second_block_size) if second_block_size else 32 * scales

# %% edit="second_of_weights" code="second_level_per_weight"
# Source: blocks of 256 weights
# -         bits += 8 * scales + 32 * -(-scales // second_block_size) if second_block_size else 32 * scales
# +         bits += 8 * scales + 32 * -(-inputs * outputs // second_block_size) if second_block_size else 32 * scales

# %% edit="half_scales" code="scales_in_16_bits"
# Source: a float16 scale, as in GGUF
# -         bits += 8 * scales + 32 * -(-scales // second_block_size) if second_block_size else 32 * scales
# +         bits += 8 * scales + 16 * -(-scales // second_block_size) if second_block_size else 16 * scales

# %% edit="bytes_returned" code="bytes_for_bits"
# Source: bytes a parameter
# -     return {"bits": bits / weights, "trained": trained, "update_bytes": (4 + 8) * trained}
# +     return {"bits": bits / weights / 8, "trained": trained, "update_bytes": (4 + 8) * trained}

# %% edit="not_divided" code="bits_of_all_weights"
# Source: the sum returned
# -     return {"bits": bits / weights, "trained": trained, "update_bytes": (4 + 8) * trained}
# +     return {"bits": bits, "trained": trained, "update_bytes": (4 + 8) * trained}

# %% edit="product" code="sides_multiplied"
# Source: rank x inputs x outputs
# -     trained = sum(rank * (inputs + outputs) for inputs, outputs, has_adapter in layers if has_adapter)
# +     trained = sum(rank * inputs * outputs for inputs, outputs, has_adapter in layers if has_adapter)

# %% edit="square" code="factors_taken_for_square"
# Source: 2 x r x d, as for an attention matrix
# -     trained = sum(rank * (inputs + outputs) for inputs, outputs, has_adapter in layers if has_adapter)
# +     trained = sum(2 * rank * inputs for inputs, outputs, has_adapter in layers if has_adapter)

# %% edit="one_factor" code="one_factor_counted"
# Source: one factor
# -     trained = sum(rank * (inputs + outputs) for inputs, outputs, has_adapter in layers if has_adapter)
# +     trained = sum(rank * outputs for inputs, outputs, has_adapter in layers if has_adapter)

# %% edit="all_layers" code="all_layers_adapted"
# Source: the third entry not read
# -     trained = sum(rank * (inputs + outputs) for inputs, outputs, has_adapter in layers if has_adapter)
# +     trained = sum(rank * (inputs + outputs) for inputs, outputs, has_adapter in layers)

# %% edit="moments" code="moments_alone"
# Source: the state of lesson 06
# -     return {"bits": bits / weights, "trained": trained, "update_bytes": (4 + 8) * trained}
# +     return {"bits": bits / weights, "trained": trained, "update_bytes": 8 * trained}

# %% edit="sixteen" code="weights_in_the_update"
# Source: 16 bytes a parameter
# -     return {"bits": bits / weights, "trained": trained, "update_bytes": (4 + 8) * trained}
# +     return {"bits": bits / weights, "trained": trained, "update_bytes": 16 * trained}

# %% edit="gradients_of_the_base" code="update_of_all_weights"
# Source: gradients of everything
# -     return {"bits": bits / weights, "trained": trained, "update_bytes": (4 + 8) * trained}
# +     return {"bits": bits / weights, "trained": trained, "update_bytes": 4 * weights + 8 * trained}

# %% edit="one_long_row" code="blocks_across_layers"
# Source: the scales of all layers in one row
# -     bits = 4 * weights
# -     for inputs, outputs, _ in layers:
# -         scales = -(-inputs * outputs // block_size)
# -         bits += 8 * scales + 32 * -(-scales // second_block_size) if second_block_size else 32 * scales
# +     scales = -(-weights // block_size)
# +     bits = 4 * weights + (8 * scales + 32 * -(-scales // second_block_size) if second_block_size else 32 * scales)

# %% edit="unadapted_skipped" code="unadapted_layers_not_quantized"
# Source: only adapted layers counted
# -     weights = sum(inputs * outputs for inputs, outputs, _ in layers)
# +     weights = sum(inputs * outputs for inputs, outputs, has_adapter in layers if has_adapter)
# ...
# -     for inputs, outputs, _ in layers:
# +     for inputs, outputs, has_adapter in layers:
# +         if not has_adapter:
# +             continue

# %% edit="tuple" code="other_keys"
# Source: a tuple returned
# -     return {"bits": bits / weights, "trained": trained, "update_bytes": (4 + 8) * trained}
# +     return bits / weights, trained, (4 + 8) * trained
