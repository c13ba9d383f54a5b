# Source: a likely slip: the state is not used
# The means of this step alone.
def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    if not state:
        state |= {"step": 0, "row": gradient.new_zeros(gradient.shape[:-1])}
        state["column"] = gradient.new_zeros(gradient.shape[:-2] + gradient.shape[-1:])
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    squares = gradient.square() + eps
    row, column = squares.mean(dim=-1, keepdim=True), squares.mean(dim=-2, keepdim=True)
    return row / row.mean(dim=-2, keepdim=True) * column
