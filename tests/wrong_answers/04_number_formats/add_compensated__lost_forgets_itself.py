# Source: value in place of what should be added
# What is lost now is taken from the value alone.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new_total = total + (value + lost)
    return new_total, value - (new_total - total)
