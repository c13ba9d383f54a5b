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
