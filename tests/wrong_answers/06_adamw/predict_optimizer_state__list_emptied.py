# Source: a loop with pop()
# The list that is handed over is empty afterwards.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    total = 0
    while parameters:
        one = parameters.pop()
        total += (moments * one.numel() * one.element_size() + counter) * one.requires_grad
    return total
