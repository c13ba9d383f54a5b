# %% answer="in_place"
# Source: optimizers that update weights in place
# Total and lost are changed in place.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    before = total.clone()
    lost += value
    total += lost
    lost -= total - before
    return total, lost


# %% answer="in_registers"
# Source: fused kernels, which compute in fp32 and store 16 bits
# One exact addition in fp32, cut into two 16-bit parts.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    exact = total.float() + lost.float() + value.float()
    rounded = exact.to(total.dtype)
    return rounded, (exact - rounded.float()).to(total.dtype)


# %% answer="neumaier"
# Source: Neumaier, who asks which of the two is larger
# The smaller one loses digits.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    addend = lost + value
    result = total + addend
    is_total_larger = total.abs() >= addend.abs()
    missing = torch.where(is_total_larger, (total - result) + addend, (addend - result) + total)
    return result, missing


# %% answer="two_sum"
# Source: Knuth, whose six operations need no comparison
# The error of an addition, exactly.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = torch.add(value, lost)
    new = torch.add(total, wanted)
    shadow = new - total
    return new, (total - (new - shadow)) + (wanted - shadow)
