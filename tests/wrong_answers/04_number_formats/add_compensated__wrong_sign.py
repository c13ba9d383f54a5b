# Source: a difference the wrong way round
# What was added too much is kept, and added again.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = value + lost
    new_total = total + wanted
    return new_total, (new_total - total) - wanted
