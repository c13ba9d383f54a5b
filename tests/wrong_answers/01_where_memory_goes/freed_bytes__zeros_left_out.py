# Source: a dict that is filled only where something is found
# Names that free nothing have no key.
def freed_bytes(namespace: dict) -> dict[str, int]:
    names_of = {}
    for name, value in namespace.items():
        for tensor in tensors_of(value):
            storage = tensor.untyped_storage()
            names_of.setdefault((storage.data_ptr(), storage.nbytes()), set()).add(name)
    freed = {}
    for (_, size), names in names_of.items():
        if len(names) == 1 and size:
            (name,) = names
            freed[name] = freed.get(name, 0) + size
    return freed
