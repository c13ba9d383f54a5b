# Source: a sum over state_dict(), where tied weights stand twice
# A storage that one name holds by two tensors is counted twice.
def freed_bytes(namespace: dict) -> dict[str, int]:
    pointers = {name: [t.untyped_storage().data_ptr() for t in tensors_of(value)] for name, value in namespace.items()}
    freed = {}
    for name, value in namespace.items():
        others = set()
        for other, found in pointers.items():
            if other != name:
                others.update(found)
        storages = [tensor.untyped_storage() for tensor in tensors_of(value)]
        freed[name] = sum(storage.nbytes() for storage in storages if storage.data_ptr() not in others)
    return freed
