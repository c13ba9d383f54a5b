# Source: Kahan summation as books print it
# The compensation is what was added too much.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = value - lost
    new_total = total + wanted
    return new_total, (new_total - total) - wanted
