# Source: a likely slip: all that is handed over is counted
# Frozen tensors are given a state.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    trained = parameters
    return sum(moments * p.numel() * p.element_size() + counter for p in trained)
