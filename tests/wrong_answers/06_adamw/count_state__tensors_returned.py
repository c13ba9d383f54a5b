# Source: code that stays in torch
# The two numbers are tensors.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
    elements, size = (sum(column) for column in zip((0, 0), *sizes.values()))
    return torch.tensor(elements), torch.tensor(size)
