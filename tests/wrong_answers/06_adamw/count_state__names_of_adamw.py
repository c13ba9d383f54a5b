# Source: the names that AdamW gives its state
# Only three names are looked up.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for state in optimizer.state.values():
        for entry in map(state.get, ("exp_avg", "exp_avg_sq", "step")):
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
    return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
