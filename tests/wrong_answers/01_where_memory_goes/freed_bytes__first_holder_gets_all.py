# Source: the habit of a `seen` set, as in numel counts of tied parameters
# The first name that holds a storage gets it.
def freed_bytes(namespace: dict) -> dict[str, int]:
    seen = set()
    freed = {}
    for name, value in namespace.items():
        freed[name] = 0
        for tensor in tensors_of(value):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in seen:
                seen.add(storage.data_ptr())
                freed[name] += storage.nbytes()
    return freed
