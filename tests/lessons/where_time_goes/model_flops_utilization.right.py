# Right answers to model_flops_utilization.


# %% answer="forward_three_times"
def model_flops_utilization(
    parameters, layers, width, time, tokens_per_second, devices, datasheet, is_sparse, is_checkpointed
):
    forward = 2 * parameters + layers * (2 * time * width + 2 * time * width)
    dense = datasheet * (0.5 if is_sparse else 1.0)
    return 3 * forward * tokens_per_second / devices / dense


# %% answer="expected_tokens"
def model_flops_utilization(
    parameters, layers, width, time, tokens_per_second, devices, datasheet, is_sparse, is_checkpointed
):
    if is_sparse:
        datasheet /= 2
    most = devices * datasheet / (6 * parameters + 12 * layers * width * time)
    return tokens_per_second / most


# %% answer="as_a_tensor"
def model_flops_utilization(
    parameters, layers, width, time, tokens_per_second, devices, datasheet, is_sparse, is_checkpointed
):
    flops = torch.tensor([6.0 * parameters, 12.0 * layers * width * time], dtype=torch.float64).sum()
    return (flops * tokens_per_second / (devices * datasheet) * (1 + is_sparse)).item()
