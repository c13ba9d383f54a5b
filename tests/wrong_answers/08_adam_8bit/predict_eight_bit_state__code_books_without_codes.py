# Source: a constant at the end of the sum
# Code books are there without any tensor that uses them.
def predict_eight_bit_state(parameters: list) -> int:
    sizes = [parameter.numel() for parameter in parameters if parameter.requires_grad]
    large = [numbers for numbers in sizes if numbers >= 4096]
    of_codes = sum(2 * numbers + 2 * 4 * -(-numbers // 256) for numbers in large)
    code_books = 2 * 256 * 4
    return of_codes + code_books + sum(2 * 4 * numbers for numbers in sizes if numbers < 4096)
