# Source: a likely slip: bytes by storage, elements by tensor
# Elements are counted for each view.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                sizes[storage.data_ptr()] = entry.numel(), storage.nbytes()
    return sum(t.numel() for s in optimizer.state.values() for t in s.values() if torch.is_tensor(t)), sum(
        size for _, size in sizes.values()
    )
