# Source: model.state_dict(), which has no gradients
# What hangs on the parameters is not counted.
def found_in(value) -> list:
    return [tensor for tensor in tensors_of(value) if not is_gradient(tensor, value)]


def is_gradient(tensor, value) -> bool:
    return any(tensor is other.grad for other in tensors_of(value) if other.is_leaf)


def freed_bytes(namespace: dict) -> dict[str, int]:
    names_of, bytes_of = {}, {}
    for name, value in namespace.items():
        for tensor in found_in(value):
            storage = tensor.untyped_storage()
            names_of.setdefault(storage.data_ptr(), set()).add(name)
            bytes_of[storage.data_ptr()] = storage.nbytes()
    return {name: sum(size for key, size in bytes_of.items() if names_of[key] == {name}) for name in namespace}
