# Source: a likely slip: names outside of the function
# The moments are kept in a dict of the module, which no checkpoint saves.
_MOMENTS = {}


def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    state["step"] = state.get("step", 0) + 1
    first, second = _MOMENTS.setdefault((id(state), weight.shape), (torch.zeros_like(weight), torch.zeros_like(weight)))
    if state["step"] == 1:
        first.zero_()
        second.zero_()
    first.lerp_(gradient, 1 - betas[0])
    second.lerp_(gradient.square(), 1 - betas[1])
    root = (second / (1 - betas[1] ** state["step"])).sqrt()
    weight -= lr * first / (1 - betas[0] ** state["step"]) / (root + eps)
