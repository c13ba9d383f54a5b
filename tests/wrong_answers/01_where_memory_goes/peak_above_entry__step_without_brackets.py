# Source: a call without its brackets
# `step` stands in the block and is not called.
def peak_above_entry(step) -> int:
    held, peak = {}, 0

    def report(tensors_in, tensors_out):
        nonlocal peak
        older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
        for storage in (tensor.untyped_storage() for tensor in tensors_out):
            if storage._cdata not in older and storage._cdata not in held:
                held[storage._cdata] = storage.nbytes()
                weakref.finalize(storage, held.pop, storage._cdata)
        peak = max(peak, sum(held.values()))

    with Watch(report):
        step
    return peak
