# Source: collections.Counter over all tensors
# A storage that one name holds twice is taken for shared.
from collections import Counter


def freed_bytes(namespace: dict) -> dict[str, int]:
    holders = Counter(t.untyped_storage().data_ptr() for value in namespace.values() for t in tensors_of(value))
    freed = {}
    for name, value in namespace.items():
        storages = [tensor.untyped_storage() for tensor in tensors_of(value)]
        freed[name] = sum(s.nbytes() for s in storages if holders[s.data_ptr()] == 1)
    return freed
