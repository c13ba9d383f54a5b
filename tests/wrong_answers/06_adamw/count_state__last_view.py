# Source: a dict of storages, with the size of the tensor
# Of each storage, its last view is counted.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                sizes[storage.data_ptr()] = entry.numel(), entry.nbytes
    return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
