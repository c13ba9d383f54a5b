# Source: bookkeeping without an effect
# What is lost is summed up and never added.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new_total = total + value
    return new_total, lost + (value - (new_total - total))
