# Source: the exact sum, less the wrong total
# What is lost is taken from the old total.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    exact = total.double() + lost.double() + value.double()
    return exact.to(total.dtype), (exact - total.double()).to(total.dtype)
