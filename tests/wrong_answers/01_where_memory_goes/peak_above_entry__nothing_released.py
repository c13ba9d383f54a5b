# Source: a dict of storages that holds them
# New storages are kept by the meter itself, so none is ever freed.
def peak_above_entry(step) -> int:
    held = {}

    def report(tensors_in, tensors_out):
        older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
        for tensor in tensors_out:
            storage = tensor.untyped_storage()
            if storage._cdata not in older:
                held[storage._cdata] = storage

    with Watch(report):
        step()
    return sum(storage.nbytes() for storage in held.values())
