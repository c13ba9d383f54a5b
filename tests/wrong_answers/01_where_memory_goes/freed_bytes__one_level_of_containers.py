# Source: a list comprehension over one list
# A dict in a list, or a model in a dict of a dict, is not looked into.
def found_in(value) -> list:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for item in value if not isinstance(item, (list, tuple, dict)) for t in tensors_of(item)]
    return tensors_of(value)


def freed_bytes(namespace: dict) -> dict[str, int]:
    names_of, bytes_of = {}, {}
    for name, value in namespace.items():
        for tensor in found_in(value):
            storage = tensor.untyped_storage()
            names_of.setdefault(storage.data_ptr(), set()).add(name)
            bytes_of[storage.data_ptr()] = storage.nbytes()
    return {name: sum(size for key, size in bytes_of.items() if names_of[key] == {name}) for name in namespace}
