# %% answer="by_nbytes"
# Source: nbytes of the tensors
# A match statement for the rules, and the bytes of each tensor as it knows them.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    own = sum(p.nbytes for p in parameters if p.requires_grad)
    count = sum(1 for p in parameters if p.requires_grad)
    match optimizer:
        case "SGD":
            return 0
        case "SGD with momentum":
            return own
        case "RMSProp":
            return own + 4 * count
    return 2 * own + 4 * count


# %% answer="numel_of_all_moments"
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


# %% answer="state_as_shapes"
# Source: write the state down as tensors without values
# The state is made on the device meta and added up.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    def state_of(parameter):
        like = [torch.empty_like(parameter, device="meta")]
        count = [torch.empty((), dtype=torch.float32, device="meta")]
        return {"SGD": [], "SGD with momentum": like, "RMSProp": like + count, "AdamW": 2 * like + count}[optimizer]

    return float(sum(t.nbytes for p in parameters if p.requires_grad for t in state_of(p)))
