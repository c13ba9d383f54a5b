# Source: loops that skip where .grad is None
# Only tensors with a gradient are counted, and no backward has run.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    return sum(moments * one.numel() * one.element_size() + counter for one in parameters if one.grad is not None)
