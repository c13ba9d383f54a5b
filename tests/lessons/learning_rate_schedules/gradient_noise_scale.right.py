# Right answers to gradient_noise_scale.

# %% answer="sample_covariance"
def gradient_noise_scale(gradients, rows):
    count = len(gradients)
    noise = rows * gradients.var(dim=0, correction=1).sum()
    signal = gradients.mean(dim=0).square().sum() - noise / (rows * count)
    return float(noise / signal)


# %% answer="linear_system"
def gradient_noise_scale(gradients, rows):
    squares = [(g @ g).item() for g in gradients]
    mean = sum(gradients) / len(gradients)
    matrix = torch.tensor([[1, 1 / rows], [1, 1 / (rows * len(gradients))]], dtype=torch.float64)
    right = torch.tensor([sum(squares) / len(squares), (mean @ mean).item()], dtype=torch.float64)
    signal, noise = torch.linalg.solve(matrix, right).tolist()
    return noise / signal


# %% answer="inner_products"
def gradient_noise_scale(gradients, rows):
    products = gradients @ gradients.T
    m = len(gradients)
    signal = (products.sum() - products.trace()) / (m * (m - 1))
    return (rows * (products.trace() / m - signal) / signal).item()
