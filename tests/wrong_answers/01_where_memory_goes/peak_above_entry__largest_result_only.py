# Source: a maximum over operators
# The largest single result stands for the peak.
def peak_above_entry(step) -> int:
    peak = 0

    def report(tensors_in, tensors_out):
        nonlocal peak
        older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
        sizes = [t.untyped_storage().nbytes() for t in tensors_out if t.untyped_storage()._cdata not in older]
        peak = max([peak, *sizes])

    with Watch(report):
        step()
    return peak
