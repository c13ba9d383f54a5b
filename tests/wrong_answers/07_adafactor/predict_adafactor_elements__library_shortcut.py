# Source: a likely shortcut: let the optimizer count
# An optimizer is made.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    optimizer = torch.optim.Adafactor(parameters) if library == "torch" else Adafactor(parameters)
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    return optimizer_state_elements(optimizer)
