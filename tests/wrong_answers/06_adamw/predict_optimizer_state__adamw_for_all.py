# Source: two moments for each parameter, the figure of AdamW
# Every optimizer is taken for AdamW.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 2, "SGD with momentum": 2, "RMSProp": 2, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    trained = [p for p in parameters if p.requires_grad]
    return sum(moments * p.numel() * p.element_size() + counter for p in trained)
