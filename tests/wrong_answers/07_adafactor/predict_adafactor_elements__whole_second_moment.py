# Source: a likely misconception: the second moment as AdamW has it
# No matrix is factored.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    total = 0
    for tensor in parameters:
        if tensor.requires_grad:
            total += 1 if library == "torch" else 2
            total += tensor.numel() if library == "transformers with momentum" else 0
            total += tensor.numel()
    return total
