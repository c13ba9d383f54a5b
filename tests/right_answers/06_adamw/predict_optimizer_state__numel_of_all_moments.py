# Source: count numbers by format first
# Numbers by format are summed up before they become bytes.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    copies = ["SGD with momentum", "RMSProp"].count(optimizer) + 2 * (optimizer == "AdamW")
    numbers = {}
    tensors = 0
    for parameter in filter(lambda parameter: parameter.requires_grad, parameters):
        numbers[parameter.dtype] = numbers.get(parameter.dtype, 0) + parameter.numel()
        tensors += 1
    moments = copies * sum(count * dtype.itemsize for dtype, count in numbers.items())
    return moments + (4 * tensors if optimizer in {"RMSProp", "AdamW"} else 0)
