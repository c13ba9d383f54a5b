# Source: a loss that is forgotten
# What was lost before is neither added nor kept.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new_total = total + value
    return new_total, value - (new_total - total)
