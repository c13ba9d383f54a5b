# Source: state is there after a step only
# A step is taken first.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    optimizer.step()
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
    return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
