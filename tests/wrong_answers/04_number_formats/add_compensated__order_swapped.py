# Source: the order of the results
# What is lost comes first.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = value + lost
    new_total = total + wanted
    return wanted - (new_total - total), new_total
