# Source: a quick test for sharing, with all()
# A name that shares any of its memory is taken to free nothing.
def freed_bytes(namespace: dict) -> dict[str, int]:
    storages = {
        name: {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors_of(value)}
        for name, value in namespace.items()
    }
    freed = {}
    for name, own in storages.items():
        others = set().union(*(found for other, found in storages.items() if other != name))
        freed[name] = sum(own.values()) if all(pointer not in others for pointer in own) else 0
    return freed
