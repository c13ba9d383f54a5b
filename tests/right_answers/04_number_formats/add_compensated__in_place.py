# Source: optimizers that update weights in place
# Total and lost are changed in place.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    before = total.clone()
    lost += value
    total += lost
    lost -= total - before
    return total, lost
