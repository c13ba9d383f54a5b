# Source: two sums that differ
# The old lost is added, and its own loss is dropped.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return total + (value + lost), value - ((total + value) - total)
