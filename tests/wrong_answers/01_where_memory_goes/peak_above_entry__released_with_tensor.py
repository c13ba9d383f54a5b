# Source: weakref.finalize(tensor, ...), which also runs
# A storage stops counting when one of its tensors dies.
def peak_above_entry(step) -> int:
    held, peak = {}, 0

    def report(tensors_in, tensors_out):
        nonlocal peak
        older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
        for tensor in tensors_out:
            key = tensor.untyped_storage()._cdata
            if key not in older and key not in held:
                held[key] = tensor.untyped_storage().nbytes()
                weakref.finalize(tensor, held.pop, key, None)
        peak = max(peak, sum(held.values()))

    with Watch(report):
        step()
    return peak
