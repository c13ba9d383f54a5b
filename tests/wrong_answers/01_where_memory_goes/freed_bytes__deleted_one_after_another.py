# Source: a clean-up cell that deletes all names in turn and prints memory after each
# Each name is deleted after the names before it, not alone.
def held(names: dict) -> int:
    storages = {}
    for tensor in tensors_of(dict(names)):
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
    return sum(storages.values())


def freed_bytes(namespace: dict) -> dict[str, int]:
    left = dict(namespace)
    freed = {}
    for name in namespace:
        before = held(left)
        del left[name]
        freed[name] = before - held(left)
    return freed
