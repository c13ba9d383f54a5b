# Source: set algebra
# What a name holds less what all other names hold.
def freed_bytes(namespace: dict) -> dict[str, int]:
    reached = {
        name: {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors_of(value)}
        for name, value in namespace.items()
    }
    freed = {}
    for name, own in reached.items():
        others = set().union(*(found for other, found in reached.items() if other != name))
        freed[name] = sum(size for pointer, size in own.items() if pointer not in others)
    return freed
