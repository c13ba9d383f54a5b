# Source: a global dictionary
# The means are kept outside of the state.
kept_means = {}


def factored_second_moment(gradient, state: dict, decay_rate: float = -0.8, eps: float = 1e-30):
    if not state:
        state |= {"step": 0, "row": gradient.new_zeros(gradient.shape[:-1])}
        state["column"] = gradient.new_zeros(gradient.shape[:-2] + gradient.shape[-1:])
    state["step"] += 1
    beta = 1 - state["step"] ** decay_rate
    squares = gradient.square() + eps
    row, column = kept_means.setdefault(
        gradient.shape, (torch.zeros_like(state["row"]), torch.zeros_like(state["column"]))
    )
    row.mul_(beta).add_(squares.mean(dim=-1), alpha=1 - beta)
    column.mul_(beta).add_(squares.mean(dim=-2), alpha=1 - beta)
    return (row / row.mean(dim=-1, keepdim=True)).unsqueeze(-1) * column.unsqueeze(-2)
