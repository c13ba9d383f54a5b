# Source: momentum
# Only one moment is kept.
def predict_eight_bit_state(parameters: list) -> int:
    sizes = [parameter.numel() for parameter in parameters if parameter.requires_grad]
    large = [numbers for numbers in sizes if numbers >= 4096]
    of_codes = sum(numbers + 4 * -(-numbers // 256) for numbers in large)
    return of_codes + (2048 if large else 0) + sum(4 * numbers for numbers in sizes if numbers < 4096)
