# %% edit="as_the_paper"
# Source: the paper: a corrected learning rate
# Both corrections are moved into the learning rate and into epsilon.
#       state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
# -     mean = state["mean"] / (1 - betas[0] ** state["step"])
# -     square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# -     weight -= lr * mean / (square_mean.sqrt() + eps)
# +     root = (1 - betas[1] ** state["step"]) ** 0.5
# +     rate = lr * root / (1 - betas[0] ** state["step"])
# +     weight -= rate * state["mean"] / (state["square_mean"].sqrt() + eps * root)

# %% answer="like_torch"
# Source: the single-tensor loop of PyTorch
# addcdiv_ with a corrected denominator.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
    state["step"] += 1
    state["mean"].lerp_(gradient, 1 - betas[0])
    state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    size = lr / (1 - betas[0] ** state["step"])
    denominator = (state["square_mean"].sqrt() / (1 - betas[1] ** state["step"]) ** 0.5).add_(eps)
    weight.addcdiv_(state["mean"], denominator, value=-size)


# %% answer="out_of_place"
# Source: assignments instead of in-place operations
# New tensors take the place of the moments; the weight is copied into.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
    state["step"] += 1
    state["mean"] = betas[0] * state["mean"] + (1 - betas[0]) * gradient
    state["square_mean"] = betas[1] * state["square_mean"] + (1 - betas[1]) * gradient**2
    mean = state["mean"] / (1 - betas[0] ** state["step"])
    square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
    weight.copy_(weight - lr * mean / (torch.sqrt(square_mean) + eps))


# %% answer="shares_kept"
# Source: the products of the betas
# The shares are kept as running products instead of powers.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state |= {"mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight), "left": [1.0, 1.0]}
    moments = (state["mean"], gradient), (state["square_mean"], gradient * gradient)
    corrected = []
    for place, (moment, number) in enumerate(moments):
        moment += (1 - betas[place]) * (number - moment)
        state["left"][place] *= betas[place]
        corrected.append(moment / (1 - state["left"][place]))
    weight.sub_(lr * corrected[0] / (corrected[1] ** 0.5 + eps))
