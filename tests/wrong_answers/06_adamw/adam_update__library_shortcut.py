# Source: the optimizer of PyTorch
# torch.optim.Adam takes the step.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state["parameter"] = torch.nn.Parameter(weight.clone())
        state["optimizer"] = torch.optim.Adam([state["parameter"]], lr=lr, betas=betas, eps=eps)
    state["parameter"].grad = gradient
    state["optimizer"].step()
    weight.copy_(state["parameter"])
