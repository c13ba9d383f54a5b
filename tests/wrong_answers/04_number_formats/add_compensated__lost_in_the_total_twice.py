# Source: a total from all that is there
# The old lost is added twice.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = value + lost
    new_total = total + wanted + lost
    return new_total, wanted - (new_total - total)
