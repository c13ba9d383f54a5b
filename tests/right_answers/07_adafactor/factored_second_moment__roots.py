# Source: the product of two roots, squared
# Both factors are taken to their root, so that no product is too small.
def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    if not state:
        state |= {"step": 0, "row": gradient.new_zeros(gradient.shape[:-1])}
        state["column"] = gradient.new_zeros(gradient.shape[:-2] + gradient.shape[-1:])
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    squares = gradient.square() + eps
    state["row"].lerp_(squares.mean(dim=-1), 1 - beta)
    state["column"].lerp_(squares.mean(dim=-2), 1 - beta)
    row = (state["row"] / state["row"].mean(dim=-1, keepdim=True)).sqrt().unsqueeze(-1)
    return (row @ state["column"].sqrt().unsqueeze(-2)).square()
