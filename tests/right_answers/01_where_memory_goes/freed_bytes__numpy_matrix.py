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
