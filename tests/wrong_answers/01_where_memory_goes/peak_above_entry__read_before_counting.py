# Source: the order of two lines
# The peak is read before the newest result is counted.
def peak_above_entry(step) -> int:
    held, peak = {}, 0

    def report(tensors_in, tensors_out):
        nonlocal peak
        peak = max(peak, sum(held.values()))
        older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
        for storage in (tensor.untyped_storage() for tensor in tensors_out):
            if storage._cdata not in older and storage._cdata not in held:
                held[storage._cdata] = storage.nbytes()
                weakref.finalize(storage, held.pop, storage._cdata)

    with Watch(report):
        step()
    return peak
