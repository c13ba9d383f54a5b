# Source: the unit of nvidia-smi
# MiB are returned for bytes.
def freed_bytes(namespace: dict) -> dict[str, int]:
    names_of, bytes_of = {}, {}
    for name, value in namespace.items():
        for tensor in tensors_of(value):
            storage = tensor.untyped_storage()
            names_of.setdefault(storage.data_ptr(), set()).add(name)
            bytes_of[storage.data_ptr()] = storage.nbytes()
    freed = dict.fromkeys(namespace, 0)
    for pointer, names in names_of.items():
        if len(names) == 1:
            freed[min(names)] += bytes_of[pointer] / MIB
    return freed
