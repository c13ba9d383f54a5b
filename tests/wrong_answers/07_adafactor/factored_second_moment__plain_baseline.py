# Source: the whole second moment of the lesson
# All numbers are kept.
def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    if not state:
        state |= {"step": 0, "row": gradient.new_zeros(gradient.shape[:-1])}
        state["column"] = gradient.new_zeros(gradient.shape[:-2] + gradient.shape[-1:])
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    squares = gradient.square() + eps
    state.setdefault("mean", torch.zeros_like(gradient)).mul_(beta).add_(squares, alpha=1 - beta)
    return state["mean"].clone()
