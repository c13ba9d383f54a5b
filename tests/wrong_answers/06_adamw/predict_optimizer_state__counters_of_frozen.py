# Source: a likely slip: len(parameters) counts the frozen ones
# Frozen tensors have counters.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    size = sum(moments * one.numel() * one.element_size() for one in parameters if one.requires_grad)
    return size + counter * len(parameters)
