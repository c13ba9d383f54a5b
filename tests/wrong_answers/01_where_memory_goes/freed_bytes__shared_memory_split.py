# Source: the proportional set size (PSS) of an operating system
# Shared bytes are split among the names that hold them.
from collections import defaultdict


def freed_bytes(namespace: dict) -> dict[str, int]:
    holders, size = defaultdict(set), {}
    for name, value in namespace.items():
        for tensor in tensors_of(value):
            storage = tensor.untyped_storage()
            holders[storage.data_ptr()].add(name)
            size[storage.data_ptr()] = storage.nbytes()
    freed = dict.fromkeys(namespace, 0)
    for key, names in holders.items():
        for name in names:
            freed[name] += size[key] / len(names)
    return {name: round(count) for name, count in freed.items()}
