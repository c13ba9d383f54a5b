# Source: model.parameters(), the usual loop over a model
# Buffers of a module are not counted.
def found_in(value) -> list:
    if isinstance(value, nn.Module):
        return [tensor for parameter in value.parameters() for tensor in tensors_of(parameter)]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in found_in(item)]
    return tensors_of(value)


def freed_bytes(namespace: dict) -> dict[str, int]:
    names_of, bytes_of = {}, {}
    for name, value in namespace.items():
        for tensor in found_in(value):
            storage = tensor.untyped_storage()
            names_of.setdefault(storage.data_ptr(), set()).add(name)
            bytes_of[storage.data_ptr()] = storage.nbytes()
    return {name: sum(size for key, size in bytes_of.items() if names_of[key] == {name}) for name in namespace}
