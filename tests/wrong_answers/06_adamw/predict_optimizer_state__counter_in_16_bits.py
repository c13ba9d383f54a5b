# Source: a likely slip: all state is taken to have the format of its parameter
# The counter of a 16-bit tensor is counted with 2 bytes.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 1 if optimizer in ("RMSProp", "AdamW") else 0
    trained = [p for p in parameters if p.requires_grad]
    return sum((moments * p.numel() + counter) * p.element_size() for p in trained)
