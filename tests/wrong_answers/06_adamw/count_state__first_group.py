# Source: optimizers with one group
# Only the parameters of the first group are walked through.
def count_state(optimizer) -> tuple[int, int]:
    sizes = {}
    for parameter in optimizer.param_groups[0]["params"]:
        state = optimizer.state.get(parameter, {})
        for entry in state.values():
            if torch.is_tensor(entry):
                storage = entry.untyped_storage()
                sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
    return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
