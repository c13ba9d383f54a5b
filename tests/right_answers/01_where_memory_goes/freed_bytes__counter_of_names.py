# Source: collections.Counter over names
# Each name counts a storage once; those counted once are its own.
from collections import Counter


def freed_bytes(namespace: dict) -> dict[str, int]:
    storages = {}
    for name, value in namespace.items():
        storages[name] = {t.untyped_storage() for t in tensors_of(value)}
    by_address = {name: {s.data_ptr(): s for s in found} for name, found in storages.items()}
    holders = Counter(address for found in by_address.values() for address in found)
    answer = Counter()
    for name, found in by_address.items():
        answer[name] = sum(s.nbytes() for address, s in found.items() if holders[address] == 1)
    return answer
