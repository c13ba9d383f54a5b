# Source: a running sum of what is lost
# What was lost is added and kept.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = value + lost
    new_total = total + wanted
    return new_total, lost + (wanted - (new_total - total))
