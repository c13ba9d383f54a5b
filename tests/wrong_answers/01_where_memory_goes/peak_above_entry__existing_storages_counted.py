# Source: a `seen` set that begins empty
# A storage that existed before counts when an operator returns it.
def peak_above_entry(step) -> int:
    held, peak = {}, 0

    def report(tensors_in, tensors_out):
        nonlocal peak
        for tensor in tensors_out:
            storage = tensor.untyped_storage()
            if storage._cdata not in held:
                held[storage._cdata] = storage.nbytes()
                weakref.finalize(storage, held.pop, storage._cdata)
        peak = max(peak, sum(held.values()))

    with Watch(report):
        step()
    return peak
