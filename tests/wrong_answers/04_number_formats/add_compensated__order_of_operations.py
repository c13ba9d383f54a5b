# Source: the same sum in another order
# The old total comes last, after a rounding.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = value + lost
    new_total = total + wanted
    return new_total, wanted - new_total + total
