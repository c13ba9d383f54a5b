# Source: PyTorch's own scaler
# GradScaler is asked for its scale after the same history.
def predict_scale(start_scale: float, growth_interval: int, found_inf: list) -> float:
    scaler = torch.amp.GradScaler("cpu", init_scale=start_scale, growth_interval=growth_interval)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scaler.scale(torch.ones(1))
    for is_inf in found_inf:
        weight.grad = torch.full((1,), float("inf") if is_inf else 1.0)
        scaler.step(optimizer)
        scaler.update()
    return scaler.get_scale()
