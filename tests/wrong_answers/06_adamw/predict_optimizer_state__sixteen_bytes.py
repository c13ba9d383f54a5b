# Source: a published formula: 16 bytes for each parameter, gradient and parameter among them
# Parameters and gradients are counted as state.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    trained = [p for p in parameters if p.requires_grad]
    return sum((2 + moments) * p.numel() * p.element_size() + counter for p in trained)
