# Source: a likely slip: RMSProp and Adam are taken for one family
# RMSProp is given two moments.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 2, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    trained = [p for p in parameters if p.requires_grad]
    return sum(moments * p.numel() * p.element_size() + counter for p in trained)
