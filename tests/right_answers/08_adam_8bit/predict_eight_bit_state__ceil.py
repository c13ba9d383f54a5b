# Source: math.ceil and a function for one tensor
# Each tensor by itself, as a tensor of one number.
def predict_eight_bit_state(parameters: list) -> int:
    import math

    def of_tensor(numbers):
        if numbers < 4096:
            return 2 * numbers * 4
        return 2 * (numbers + 4 * math.ceil(numbers / 256))

    sizes = [parameter.numel() for parameter in parameters if parameter.requires_grad]
    return torch.tensor(sum(map(of_tensor, sizes)) + 8 * 256 * any(size >= 4096 for size in sizes))
