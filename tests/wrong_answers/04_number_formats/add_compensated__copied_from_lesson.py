# Source: the lesson's line with an fp32 accumulator
# The total becomes fp32.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return total.float() + value.float(), lost
