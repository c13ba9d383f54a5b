# Source: a set of all storages, made once before the loop
# Every storage is found among 'the others', since these contain the name itself.
def freed_bytes(namespace: dict) -> dict[str, int]:
    everything = {t.untyped_storage().data_ptr() for t in tensors_of(list(namespace.values()))}
    freed = {}
    for name, value in namespace.items():
        own = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors_of(value)}
        freed[name] = sum(size for pointer, size in own.items() if pointer not in everything)
    return freed
