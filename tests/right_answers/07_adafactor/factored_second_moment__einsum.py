# Source: an outer product by einsum
# The division is by the mean of the column means, which is the same.
def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    squares = gradient.pow(2).add(eps)
    state["step"] = state.get("step", 0) + 1
    beta = 1 - state["step"] ** decay_rate
    for name, dim in (("row", -1), ("column", -2)):
        old = state.get(name, 0.0)
        state[name] = beta * old + (1 - beta) * squares.mean(dim=dim)
    share = state["column"] / state["column"].mean(dim=-1, keepdim=True)
    return torch.einsum("...r,...c->...rc", state["row"], share)
