# Source: momentum taken for a rule that counts
# SGD with momentum counts its steps, plain SGD does not.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    moments = {"SGD": 0, "SGD with momentum": 1, "RMSProp": 1, "AdamW": 2}[optimizer]
    counter = 0 if optimizer == "SGD" else 4
    return sum(moments * one.numel() * one.element_size() + counter for one in parameters if one.requires_grad)
