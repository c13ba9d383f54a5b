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
