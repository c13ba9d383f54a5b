# Source: a likely slip: an int has 64 bits
# A counter is taken to have 8 bytes.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 8 if optimizer in ("RMSProp", "AdamW") else 0
    trained = [p for p in parameters if p.requires_grad]
    return sum(moments * p.numel() * p.element_size() + counter for p in trained)
