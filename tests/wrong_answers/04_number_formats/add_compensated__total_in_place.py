# Source: add_() before the difference
# The old total is gone when the difference is taken.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = value + lost
    new_total = total.add_(wanted)
    return new_total, wanted - (new_total - total)
