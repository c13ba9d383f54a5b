# Source: Neumaier, who asks which of the two is larger
# The smaller one loses digits.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    addend = lost + value
    result = total + addend
    is_total_larger = total.abs() >= addend.abs()
    missing = torch.where(is_total_larger, (total - result) + addend, (addend - result) + total)
    return result, missing
