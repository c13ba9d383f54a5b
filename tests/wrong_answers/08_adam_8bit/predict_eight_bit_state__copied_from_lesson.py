# Source: the estimate line of the lesson's Run cell
# Two bytes for each parameter.
def predict_eight_bit_state(parameters: list) -> int:
    return 2 * sum(parameter.numel() for parameter in parameters if parameter.requires_grad)
