# Source: tensor.data_ptr(), the usual test for shared memory
# A view that begins inside its storage counts as new memory.
def peak_above_entry(step) -> int:
    held, peak = {}, 0

    def report(tensors_in, tensors_out):
        nonlocal peak
        older = {tensor.data_ptr() for tensor in tensors_in}
        for tensor in tensors_out:
            if tensor.data_ptr() not in older and tensor.data_ptr() not in held:
                storage = tensor.untyped_storage()
                held[tensor.data_ptr()] = storage.nbytes()
                weakref.finalize(storage, held.pop, tensor.data_ptr())
        peak = max(peak, sum(held.values()))

    with Watch(report):
        step()
    return peak
