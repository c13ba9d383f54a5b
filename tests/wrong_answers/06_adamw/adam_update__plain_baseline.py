# Source: the SGD of the lesson
# Plain SGD.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    weight -= lr * gradient
