# Source: an assignment inside a nested function
# Without `nonlocal` the counter is a new name.
def peak_above_entry(step) -> int:
    held = peak = 0

    def report(tensors_in, tensors_out):
        older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
        for tensor in tensors_out:
            if tensor.untyped_storage()._cdata not in older:
                held += tensor.untyped_storage().nbytes()
        peak = max(peak, held)

    with Watch(report):
        step()
    return peak
