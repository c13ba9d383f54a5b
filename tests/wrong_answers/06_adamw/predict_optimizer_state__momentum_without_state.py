# Source: a likely slip: SGD has no state, with momentum or without
# Momentum is given no velocity.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 0, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    trained = [p for p in parameters if p.requires_grad]
    return sum(moments * p.numel() * p.element_size() + counter for p in trained)
