# Source: the meaning of the word `frees`
# What is held with the name, less what is held without it.
def held_bytes(values) -> int:
    storages = {}
    for value in values:
        for tensor in tensors_of(value):
            storages[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
    return sum(storages.values())


def freed_bytes(namespace: dict) -> dict[str, int]:
    everything = held_bytes(namespace.values())
    return {
        name: everything - held_bytes(value for other, value in namespace.items() if other != name)
        for name in namespace
    }
