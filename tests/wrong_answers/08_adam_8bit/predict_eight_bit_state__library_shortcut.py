# Source: running the optimizer in place of a prediction
# bitsandbytes keeps the state, and it is counted.
def predict_eight_bit_state(parameters: list) -> int:
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer = bitsandbytes.optim.AdamW8bit(parameters)
    optimizer.step()
    return optimizer_state_bytes(optimizer)
