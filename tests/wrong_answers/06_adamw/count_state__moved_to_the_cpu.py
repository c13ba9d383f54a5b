# Source: code that collects results on the CPU
# Every tensor is moved to the CPU, which copies it on a GPU.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for state in optimizer.state.values():
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.detach().cpu().untyped_storage()
                sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
    return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
