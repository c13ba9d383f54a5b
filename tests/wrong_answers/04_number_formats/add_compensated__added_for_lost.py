# Source: one difference for the other
# What was added is kept, not what was lost.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new_total = total + (value + lost)
    return new_total, total - new_total
