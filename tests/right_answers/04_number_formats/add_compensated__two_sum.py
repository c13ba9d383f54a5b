# Source: Knuth, whose six operations need no comparison
# The error of an addition, exactly.
def add_compensated(total: torch.Tensor, lost: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    wanted = torch.add(value, lost)
    new = torch.add(total, wanted)
    shadow = new - total
    return new, (total - (new - shadow)) + (wanted - shadow)
