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
