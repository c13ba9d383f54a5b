# Source: an addition
# Nothing is kept of what is lost.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return total + value, lost
