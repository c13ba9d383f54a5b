# Source: optimizer.state, which is what the optimizer adds
# The parameters in the optimizer's groups are not seen as held.
def found_in(value) -> list:
    if isinstance(value, torch.optim.Optimizer):
        return tensors_of([list(entry.values()) for entry in value.state.values()])
    return tensors_of(value)


def freed_bytes(namespace: dict) -> dict[str, int]:
    names_of, bytes_of = {}, {}
    for name, value in namespace.items():
        for tensor in found_in(value):
            storage = tensor.untyped_storage()
            names_of.setdefault(storage.data_ptr(), set()).add(name)
            bytes_of[storage.data_ptr()] = storage.nbytes()
    return {name: sum(size for key, size in bytes_of.items() if names_of[key] == {name}) for name in namespace}
