# Source: tensors put end to end
# Blocks run on from tensor to tensor.
def predict_eight_bit_state(parameters: list) -> int:
    sizes = [parameter.numel() for parameter in parameters if parameter.requires_grad]
    large = [numbers for numbers in sizes if numbers >= 4096]
    of_codes = 2 * sum(large) + 2 * 4 * -(-sum(large) // 256)
    code_books = 2 * 256 * 4 if large else 0
    return of_codes + code_books + sum(2 * 4 * numbers for numbers in sizes if numbers < 4096)
