# Source: 4,096 taken for bytes
# The limit is compared with the bytes of a tensor.
def predict_eight_bit_state(parameters: list) -> int:
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    large = [p.numel() for p in trained if p.numel() * p.element_size() >= 4096]
    small = [p.numel() for p in trained if p.numel() * p.element_size() < 4096]
    of_codes = sum(2 * numbers + 8 * -(-numbers // 256) for numbers in large)
    return of_codes + (2048 if large else 0) + 8 * sum(small)
