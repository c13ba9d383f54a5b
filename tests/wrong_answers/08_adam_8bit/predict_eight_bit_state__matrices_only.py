# Source: decay groups of lesson 06: matrices apart from vectors
# Matrices have codes, vectors have none.
def predict_eight_bit_state(parameters: list) -> int:
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    large = [p.numel() for p in trained if p.dim() > 1]
    small = [p.numel() for p in trained if p.dim() < 2]
    of_codes = sum(2 * numbers + 8 * -(-numbers // 256) for numbers in large)
    return of_codes + (2048 if large else 0) + 8 * sum(small)
