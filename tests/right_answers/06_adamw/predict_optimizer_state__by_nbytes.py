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
