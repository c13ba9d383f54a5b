# Source: a sum that waits until it is large enough
# Either lost or the value is added.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new_total = total + lost
    is_large = new_total != total
    return torch.where(is_large, new_total, total + value), torch.where(is_large, value, lost + value)
