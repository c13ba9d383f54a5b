# Source: numel without a size
# Numbers are counted, not bytes.
def predict_eight_bit_state(parameters: list) -> int:
    sizes = [parameter.numel() for parameter in parameters if parameter.requires_grad]
    large = [numbers for numbers in sizes if numbers >= 4096]
    of_codes = sum(2 * numbers + 2 * -(-numbers // 256) for numbers in large)
    return of_codes + (512 if large else 0) + sum(2 * numbers for numbers in sizes if numbers < 4096)
