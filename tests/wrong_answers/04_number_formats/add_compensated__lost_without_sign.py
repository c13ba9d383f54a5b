# Source: an error taken for a size
# What is lost is never negative.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = value + lost
    new_total = total + wanted
    return new_total, (wanted - (new_total - total)).abs()
