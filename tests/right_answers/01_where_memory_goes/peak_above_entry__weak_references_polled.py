# Source: weak references without callbacks
# After each operator the living storages are added up.
def peak_above_entry(step) -> int:
    references, sums = [], [0]

    def report(tensors_in, tensors_out):
        older = [tensor.untyped_storage() for tensor in tensors_in]
        living = [storage for storage in (reference() for reference in references) if storage is not None]
        for tensor in tensors_out:
            storage = tensor.untyped_storage()
            if not any(storage is other for other in older + living):
                references.append(weakref.ref(storage))
                living.append(storage)
        sums.append(sum(storage.nbytes() for storage in living))

    with Watch(report):
        step()
    return max(sums)
