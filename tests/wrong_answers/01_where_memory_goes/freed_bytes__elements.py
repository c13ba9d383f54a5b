# Source: numel(), the usual count of parameters
# Elements are returned for bytes.
def freed_bytes(namespace: dict) -> dict[str, int]:
    names_of, count_of = {}, {}
    for name, value in namespace.items():
        for tensor in tensors_of(value):
            key = tensor.untyped_storage().data_ptr()
            names_of.setdefault(key, set()).add(name)
            count_of[key] = tensor.numel()
    freed = dict.fromkeys(namespace, 0)
    for key, names in names_of.items():
        if len(names) == 1:
            freed[next(iter(names))] += count_of[key]
    return freed
