# Source: `tensor.data_ptr()`, the usual test for shared memory
# A view that begins inside its storage has another address.
def freed_bytes(namespace: dict) -> dict[str, int]:
    names_of, bytes_of = {}, {}
    for name, value in namespace.items():
        for tensor in tensors_of(value):
            pointer = tensor.data_ptr()
            names_of.setdefault(pointer, set()).add(name)
            bytes_of[pointer] = tensor.untyped_storage().nbytes()
    freed = {name: 0 for name in namespace}
    for pointer, names in names_of.items():
        if len(names) == 1:
            freed[names.pop()] += bytes_of[pointer]
    return freed
