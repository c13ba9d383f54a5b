# Source: the lesson prints elements beside bytes
# Numbers are counted instead of bytes.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    trained = [p for p in parameters if p.requires_grad]
    return sum(moments * p.numel() + counter // 4 for p in trained)
