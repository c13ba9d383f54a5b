# Source: fused kernels, which compute in fp32 and store 16 bits
# One exact addition in fp32, cut into two 16-bit parts.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    exact = total.float() + lost.float() + value.float()
    rounded = exact.to(total.dtype)
    return rounded, (exact - rounded.float()).to(total.dtype)
