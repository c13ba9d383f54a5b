# Source: sizes by division
# The number of rows is the number of elements over the last side.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    trained = [tensor for tensor in parameters if tensor.requires_grad]
    numbers = [tensor.numel() for tensor in trained]
    singles = len(trained) * (1 + library.startswith("transformers"))
    means = sum(
        n // tensor.shape[-1] + n // tensor.shape[-2] if tensor.ndim >= 2 else n
        for n, tensor in zip(numbers, trained, strict=True)
    )
    return singles + means + ("momentum" in library) * sum(numbers)
