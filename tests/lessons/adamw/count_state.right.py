# %% answer="by_state_dict"
# Source: state_dict() instead of state
# The tensors of state_dict() share the storages of the state.
def count_state(optimizer) -> tuple[int, int]:
    entries = [entry for state in optimizer.state_dict()["state"].values() for entry in state.values()]
    tensors = {t.untyped_storage()._cdata: t for t in entries if isinstance(t, torch.Tensor)}.values()
    sizes = [t.untyped_storage().nbytes() for t in tensors]
    return sum(size // t.element_size() for size, t in zip(sizes, tensors)), sum(sizes)


# %% answer="recursive"
# Source: any nesting
# A generator walks through dicts and lists.
def count_state(optimizer) -> tuple[int, int]:
    def walk(entry):
        if isinstance(entry, torch.Tensor):
            yield entry.untyped_storage(), entry.element_size()
        for inner in entry.values() if isinstance(entry, dict) else ():
            yield from walk(inner)

    found = {
        storage.data_ptr(): (storage.nbytes() / one, storage.nbytes()) for storage, one in walk(dict(optimizer.state))
    }
    return [sum(size[place] for size in found.values()) for place in (0, 1)]


# %% answer="seen_set"
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
