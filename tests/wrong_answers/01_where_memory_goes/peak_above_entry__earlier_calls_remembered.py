# Source: a counter outside the function
# The peak of all earlier calls is remembered.
most = {"bytes": 0}


def peak_above_entry(step) -> int:
    held = {}

    def report(tensors_in, tensors_out):
        older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
        for storage in (tensor.untyped_storage() for tensor in tensors_out):
            if storage._cdata not in older and storage._cdata not in held:
                held[storage._cdata] = storage.nbytes()
                weakref.finalize(storage, held.pop, storage._cdata)
        most["bytes"] = max(most["bytes"], sum(held.values()))

    with Watch(report):
        step()
    return most["bytes"]
