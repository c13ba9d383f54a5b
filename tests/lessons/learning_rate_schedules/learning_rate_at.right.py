# Right answers to learning_rate_at.

# %% answer="branches_with_tensors"
def learning_rate_at(schedule, update, updates, warm_up, peak):
    u, w, n = torch.tensor(float(update), dtype=torch.float64), warm_up, updates
    if u <= w:
        return peak * u / w
    p = (u - w) / (n - w)
    if schedule == "linear":
        return peak * (n - u) / (n - w)
    if schedule == "cosine":
        return peak * torch.cos(math.pi * p / 2) ** 2
    if schedule == "exponential":
        return peak * torch.exp(p * math.log(0.01))
    if schedule == "step":
        return peak / 10 ** int((update - w) / ((n - w) / 3))
    if schedule == "inverse_square_root":
        return peak * (w / u) ** 0.5
    return peak if u <= 0.8 * n else peak * (n - u) * 5 / n


# %% answer="library_schedules"
def learning_rate_at(schedule, update, updates, warm_up, peak):
    from transformers import get_scheduler

    names = {"linear": "linear", "cosine": "cosine", "inverse_square_root": "inverse_sqrt"}
    if schedule in names:
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=peak)
        scheduler = get_scheduler(names[schedule], optimizer, warm_up, updates)
        return scheduler.lr_lambdas[0](update) * peak
    if update < warm_up:
        return peak * update / warm_up
    if schedule == "exponential":
        return peak * 10 ** (-2 * (update - warm_up) / (updates - warm_up))
    if schedule == "step":
        third = (updates - warm_up) // 3
        return peak * 0.1 ** sum(update >= warm_up + i * third for i in (1, 2))
    return peak * min(1.0, 5 * (updates - update) / updates)


# %% answer="tables_by_interpolation"
def learning_rate_at(schedule, update, updates, warm_up, peak):
    rise = update / warm_up
    if rise < 1:
        return rise * peak
    p = (update - warm_up) / (updates - warm_up)
    shapes = {
        "linear": lambda: 1 - p,
        "cosine": lambda: 0.5 * math.cos(p * math.pi) + 0.5,
        "exponential": lambda: math.pow(1e-2, p),
        "step": lambda: 1.0 if p < 1 / 3 else 0.1 if p < 2 / 3 else 0.01,
        "inverse_square_root": lambda: rise**-0.5,
        "wsd": lambda: 1.0 if update < updates * 4 // 5 else (updates - update) / (updates // 5),
    }
    return shapes[schedule]() * peak
