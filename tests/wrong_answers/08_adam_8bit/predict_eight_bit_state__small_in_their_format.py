# Source: lesson 06: a moment has the format of its parameter
# Small tensors keep moments in their own format.
def predict_eight_bit_state(parameters: list) -> int:
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    large = [parameter.numel() for parameter in trained if parameter.numel() >= 4096]
    small = sum(2 * p.element_size() * p.numel() for p in trained if p.numel() < 4096)
    of_codes = sum(2 * numbers + 8 * -(-numbers // 256) for numbers in large)
    return of_codes + (2048 if large else 0) + small
