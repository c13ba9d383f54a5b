# Source: a likely slip: each address once, with the bytes of its view
# Gaps between views are not counted.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                sizes[entry.data_ptr()] = entry.numel(), entry.nbytes
    return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
