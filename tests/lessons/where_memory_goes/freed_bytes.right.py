# %% answer="counter_of_names"
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


# %% answer="numpy_matrix"
# Source: NumPy
# A matrix of names by storages; columns with a single entry belong to one name.
import numpy


def freed_bytes(namespace: dict) -> dict[str, int]:
    names = list(namespace)
    column, sizes = {}, []
    entries = []
    for row, name in enumerate(names):
        for tensor in tensors_of(namespace[name]):
            storage = tensor.untyped_storage()
            if storage._cdata not in column:
                column[storage._cdata] = len(sizes)
                sizes.append(storage.nbytes())
            entries.append((row, column[storage._cdata]))
    holds = numpy.zeros((len(names), len(sizes)), dtype=bool)
    for row, place in entries:
        holds[row, place] = True
    alone = holds & (holds.sum(axis=0) == 1)
    freed = alone @ numpy.array(sizes, dtype=numpy.int64)
    return dict(zip(names, freed))


# %% answer="others_as_a_set"
# Source: set algebra
# What a name holds less what all other names hold.
def freed_bytes(namespace: dict) -> dict[str, int]:
    reached = {
        name: {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors_of(value)}
        for name, value in namespace.items()
    }
    freed = {}
    for name, own in reached.items():
        others = set().union(*(found for other, found in reached.items() if other != name))
        freed[name] = sum(size for pointer, size in own.items() if pointer not in others)
    return freed


# %% answer="owner_or_nobody"
# Source: one pass with one owner for each storage
# A second name makes a storage nobody's.
NOBODY = object()


def freed_bytes(namespace: dict) -> dict[str, int]:
    owner, size = {}, {}
    for name in namespace:
        for tensor in tensors_of(namespace[name]):
            storage = tensor.untyped_storage()
            key = storage.data_ptr()
            size[key] = storage.nbytes()
            if owner.setdefault(key, name) != name:
                owner[key] = NOBODY
    freed = {name: 0 for name in namespace}
    for key, name in owner.items():
        if name is not NOBODY:
            freed[name] += size[key]
    return freed


# %% answer="with_and_without"
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
