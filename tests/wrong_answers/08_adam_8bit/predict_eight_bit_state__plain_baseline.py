# Source: AdamW of lesson 06
# Both moments of every tensor in float32.
def predict_eight_bit_state(parameters: list) -> int:
    return sum(8 * parameter.numel() for parameter in parameters if parameter.requires_grad)
