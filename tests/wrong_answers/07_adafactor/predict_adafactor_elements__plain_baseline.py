# Source: AdamW's count of lesson 06
# Two moments and a step count, whatever the library is.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    return sum(2 * tensor.numel() + 1 for tensor in parameters if tensor.requires_grad)
