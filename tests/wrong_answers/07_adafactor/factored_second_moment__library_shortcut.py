# Source: transformers' own product
# A method of transformers' Adafactor does it.
def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    if not state:
        state |= {"step": 0, "row": gradient.new_zeros(gradient.shape[:-1])}
        state["column"] = gradient.new_zeros(gradient.shape[:-2] + gradient.shape[-1:])
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    squares = gradient.square() + eps
    state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
    state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
    return Adafactor._approx_sq_grad(state["row"], state["column"]).pow(-2)
