# Source: the worst error of each format, then a choice
# A dict of errors, read in order.
def choose_format(values: torch.Tensor, tolerance: float) -> str:
    sizes = values.flatten().abs()
    sizes = sizes[sizes > 0]
    worst = {}
    for name, dtype in FORMATS.items():
        worst[name] = torch.amax((sizes.to(dtype).to(torch.float32) - sizes).abs() / sizes).item()
    suits = [name for name, error in worst.items() if error <= tolerance]
    return suits[0]
