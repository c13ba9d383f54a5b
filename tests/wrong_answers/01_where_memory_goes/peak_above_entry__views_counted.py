# Source: id(tensor), as in loops that count parameters once
# A view is another object, and counts as new memory.
def peak_above_entry(step) -> int:
    held, peak = {}, 0

    def report(tensors_in, tensors_out):
        nonlocal peak
        older = {id(tensor) for tensor in tensors_in}
        for tensor in tensors_out:
            if id(tensor) not in older and id(tensor) not in held:
                held[id(tensor)] = tensor.nbytes
                weakref.finalize(tensor, held.pop, id(tensor))
        peak = max(peak, sum(held.values()))

    with Watch(report):
        step()
    return peak
