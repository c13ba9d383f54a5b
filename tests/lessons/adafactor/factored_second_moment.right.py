# %% answer="einsum"
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


# %% answer="keepdim"
# Source: keepdim in place of unsqueeze
# Means with one side of length 1 are made from the state.
def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    squares = gradient * gradient + eps
    row, column = squares.mean(-1), squares.mean(-2)
    step = state.get("step", 0) + 1
    new = step**decay_rate
    if step > 1:
        row, column = torch.lerp(state["row"], row, new), torch.lerp(state["column"], column, new)
    state.update(step=step, row=row, column=column)
    return column[..., None, :] * (row / row.mean(-1, keepdim=True))[..., None]


# %% edit="roots"
# Source: the product of two roots, squared
# Both factors are taken to their root, so that no product is too small.
#       squares = gradient.square() + eps
# -     state["row"].mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
# -     state["column"].mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
# -     row_share = state["row"] / state["row"].mean(dim=-1, keepdim=True)  # [..., rows]
# -     return row_share.unsqueeze(-1) * state["column"].unsqueeze(-2)
# +     state["row"].lerp_(squares.mean(dim=-1), 1 - beta)
# +     state["column"].lerp_(squares.mean(dim=-2), 1 - beta)
# +     row = (state["row"] / state["row"].mean(dim=-1, keepdim=True)).sqrt().unsqueeze(-1)
# +     return (row @ state["column"].sqrt().unsqueeze(-2)).square()


# %% answer="sums_over_sides"
# Source: means written as sums over the sides
# Sums are divided by the lengths that they run over.
def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    rows, columns = gradient.shape[-2:]
    squares = gradient.square() + eps
    if not state:
        state["step"], state["row"], state["column"] = torch.zeros(()), squares.sum(-1) * 0, squares.sum(-2) * 0
    state["step"] += 1
    new = float(state["step"]) ** decay_rate
    state["row"] += new * (squares.sum(-1) / columns - state["row"])
    state["column"] += new * (squares.sum(-2) / rows - state["column"])
    total = state["row"].sum(-1)[..., None, None]
    return (rows * state["row"][..., None] / total) * state["column"][..., None, :]
