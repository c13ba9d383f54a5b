# Source: operators that return one tensor
# Of several results only the first counts.
def peak_above_entry(step) -> int:
    alive, peak = {}, 0

    def report(tensors_in, tensors_out):
        nonlocal peak
        older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
        for storage in [tensor.untyped_storage() for tensor in tensors_out[:1]]:
            if storage._cdata not in older and storage._cdata not in alive:
                alive[storage._cdata] = storage.nbytes()
                weakref.finalize(storage, alive.pop, storage._cdata)
        peak = max(peak, sum(alive.values()))

    with Watch(report):
        step()
    return peak
