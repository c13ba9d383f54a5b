# Source: a set of what was seen
# Sums are kept while a set remembers the storages.
def count_state(optimizer) -> tuple[int, int]:
    seen, elements, total = set(), 0, 0
    for state in optimizer.state.values():
        for tensor in filter(torch.is_tensor, state.values()):
            key = tensor.untyped_storage().data_ptr()
            if key in seen:
                continue
            seen.add(key)
            total += tensor.untyped_storage().nbytes()
            elements += tensor.untyped_storage().nbytes() // tensor.element_size()
    return elements, total
