# Source: the result of an addition
# Only the total is returned.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return total + (value + lost)
