# Source: code that makes tensors contiguous before it reads them
# Tensors that are stored column by column are copied.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                entry = entry.contiguous()
                sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
    return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
