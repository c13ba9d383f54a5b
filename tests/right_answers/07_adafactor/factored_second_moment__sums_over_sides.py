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
