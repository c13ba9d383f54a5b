# Source: a likely slip: all numbers are float32
# 16-bit and 8-bit state is counted with 4 bytes.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
    elements = sum(elements for elements, _ in sizes.values())
    return elements, 4 * elements
