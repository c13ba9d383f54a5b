# Source: `id(tensor)`, as in many loops that count parameters once
# Two tensor objects with one storage are not seen as sharing.
def freed_bytes(namespace: dict) -> dict[str, int]:
    names_of, bytes_of = {}, {}
    for name, value in namespace.items():
        for tensor in tensors_of(value):
            names_of.setdefault(id(tensor), set()).add(name)
            bytes_of[id(tensor)] = tensor.untyped_storage().nbytes()
    return {name: sum(bytes_of[key] for key, names in names_of.items() if names == {name}) for name in namespace}
