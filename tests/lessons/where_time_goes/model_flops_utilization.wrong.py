# Wrong answers to model_flops_utilization.
# Not here: library_shortcut, because no library has this function.

# %% answer="plain_baseline" code="attention_left_out"
# Source: the rule 6 N D
def model_flops_utilization(
    parameters, layers, width, time, tokens_per_second, devices, datasheet, is_sparse, is_checkpointed
):
    return 6 * parameters * tokens_per_second / (devices * datasheet / (2 if is_sparse else 1))


# %% answer="hard_coded" code="visible_case_hard_coded"
# Source: the published share of the run in the notebook
def model_flops_utilization(
    parameters, layers, width, time, tokens_per_second, devices, datasheet, is_sparse, is_checkpointed
):
    return (6 * 540.35e9 + 12 * 118 * 12288 * 2048) * 238_300 / (6144 * 275e12)


# %% answer="copied_from_lesson" code="dense_rate_halved"
# Source: every datasheet's figure halved
def model_flops_utilization(
    parameters, layers, width, time, tokens_per_second, devices, datasheet, is_sparse, is_checkpointed
):
    flops = 6 * parameters + 12 * layers * width * time
    return flops * tokens_per_second / (devices * datasheet / 2)


# %% edit="forward_attention" code="attention_of_the_forward_pass"
# Source: 4 L T D, which is forward alone
# -     token_flops = 6 * parameters + 12 * layers * width * time
# +     token_flops = 6 * parameters + 4 * layers * width * time

# %% edit="causal_attention" code="half_of_attention"
# Source: the causal half, forward and backward
# -     token_flops = 6 * parameters + 12 * layers * width * time
# +     token_flops = 6 * parameters + 6 * layers * width * time

# %% edit="inference" code="forward_of_the_parameters"
# Source: 2 N for each token
# -     token_flops = 6 * parameters + 12 * layers * width * time
# +     token_flops = 2 * parameters + 4 * layers * width * time

# %% edit="sparse_peak" code="sparse_rate_used"
# Source: the largest number of the datasheet
# -     peak = devices * datasheet_flops_per_second / (2 if is_sparse else 1)
# +     peak = devices * datasheet_flops_per_second

# %% edit="hardware_flops" code="recomputation_counted"
# Source: hardware FLOPs utilization
# -     return token_flops * tokens_per_second / peak
# +     return token_flops * tokens_per_second / peak * (4 / 3 if is_checkpointed else 1)

# %% edit="eight_n" code="recomputation_counted"
# Source: 8 N D with checkpointing
# -     token_flops = 6 * parameters + 12 * layers * width * time
# +     token_flops = (8 if is_checkpointed else 6) * parameters + 12 * layers * width * time

# %% edit="one_device" code="one_device_counted"
# Source: the rate of all over the peak of one
# -     peak = devices * datasheet_flops_per_second / (2 if is_sparse else 1)
# +     peak = datasheet_flops_per_second / (2 if is_sparse else 1)

# %% edit="attention_recomputed" code="recomputation_counted"
# Source: attention runs forward twice
# -     token_flops = 6 * parameters + 12 * layers * width * time
# +     token_flops = 6 * parameters + (16 if is_checkpointed else 12) * layers * width * time

# %% edit="no_time" code="factors_of_attention"
# Source: attention as one more layer with weights
# -     token_flops = 6 * parameters + 12 * layers * width * time
# +     token_flops = 6 * parameters + 12 * layers * width**2

# %% edit="percent" code="percent_returned"
# Source: 46.2 %, as published
# -     return token_flops * tokens_per_second / peak
# +     return 100 * token_flops * tokens_per_second / peak

# %% edit="head_added" code="other_flops_of_a_token"
# Source: a vocabulary of 50,257 added, as to the FLOPs of a step
# -     token_flops = 6 * parameters + 12 * layers * width * time
# +     token_flops = 6 * parameters + 12 * layers * width * time + 6 * 50_257 * width

# %% edit="sequences_per_second" code="tokens_taken_for_sequences"
# Source: the FLOPs of a sequence times the rate of tokens
# -     return token_flops * tokens_per_second / peak
# +     return time * token_flops * tokens_per_second / peak

# %% edit="sparsity_doubles" code="sparse_rate_used"
# Source: "which doubles it", read as what to do
# -     peak = devices * datasheet_flops_per_second / (2 if is_sparse else 1)
# +     peak = devices * datasheet_flops_per_second * (2 if is_sparse else 1)
