# Source: quantization by rows, as in other libraries
# A scale for each row of a matrix.
def predict_eight_bit_state(parameters: list) -> int:
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    large = [parameter for parameter in trained if parameter.numel() >= 4096]
    of_codes = sum(2 * p.numel() + 8 * (p.numel() // p.shape[-1]) for p in large)
    small = sum(8 * parameter.numel() for parameter in trained if parameter.numel() < 4096)
    return of_codes + small + (2048 if large else 0)
