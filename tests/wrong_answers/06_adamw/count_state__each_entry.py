# Source: a likely slip: every tensor of every parameter
# A shared code book counts for each parameter.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                sizes[len(sizes)] = entry.numel(), entry.nbytes
    return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
