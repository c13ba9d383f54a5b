# Source: models of one format
# All tensors have the format of the first.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 4 if optimizer in ("RMSProp", "AdamW") else 0
    number_bytes = parameters[0].element_size()
    return sum(moments * one.numel() * number_bytes + counter for one in parameters if one.requires_grad)
