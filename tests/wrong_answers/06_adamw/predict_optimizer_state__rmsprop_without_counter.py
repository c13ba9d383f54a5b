# Source: RMSProp's rule, which has no t
# RMSProp does not count its steps.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 4 if optimizer == "AdamW" else 0
    return sum(moments * one.numel() * one.element_size() + counter for one in parameters if one.requires_grad)
