# Source: one pass with one owner for each storage
# A second name makes a storage nobody's.
NOBODY = object()


def freed_bytes(namespace: dict) -> dict[str, int]:
    owner, size = {}, {}
    for name in namespace:
        for tensor in tensors_of(namespace[name]):
            storage = tensor.untyped_storage()
            key = storage.data_ptr()
            size[key] = storage.nbytes()
            if owner.setdefault(key, name) != name:
                owner[key] = NOBODY
    freed = {name: 0 for name in namespace}
    for key, name in owner.items():
        if name is not NOBODY:
            freed[name] += size[key]
    return freed
