# Source: memory profilers that print what an object reaches (pympler's asizeof)
# Every name that holds a storage gets its bytes.
def freed_bytes(namespace: dict) -> dict[str, int]:
    result = {}
    for name, value in namespace.items():
        storages = {}
        for tensor in tensors_of(value):
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        result[name] = sum(storages.values())
    return result
