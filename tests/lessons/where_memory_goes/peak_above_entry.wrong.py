# %% answer="plain_baseline" code="operators_not_watched"
# Source: torch.cuda.max_memory_allocated(), the usual way to ask for a peak
# Nothing watches the step; the number is that of the GPU.
def peak_above_entry(step) -> int:
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    return torch.cuda.max_memory_allocated() - before


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible steps, written down
# Peaks seen once stand for a meter.
SEEN = iter([54720, 1174368, 133900, 0, 448, 80640, 228800, 215436, 179712])


def peak_above_entry(step) -> int:
    with Watch(lambda tensors_in, tensors_out: None):
        step()
    return next(SEEN, 0)


# %% answer="copied_from_lesson" code="returned_none"
# Source: the cell of this lesson that shows what Watch reports
# The tensors are printed and nothing is returned.
def peak_above_entry(step) -> int:
    def show(tensors_in, tensors_out):
        shapes = [list(tensor.shape) for tensor in tensors_out]
        return shapes

    with Watch(show):
        step()


# %% answer="library_shortcut" code="library_meter_used"
# Source: the course's own meter
# measure_peak_memory does the work.
def peak_above_entry(step) -> int:
    return measure_peak_memory(step, device="cpu").above_entry_bytes


# %% edit="arguments_counted" code="arguments_counted"
# Source: torch.cuda.max_memory_allocated(), which counts what was there before
# What goes into an operator counts too.
#           nonlocal peak
# -         older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
# -         for storage in (tensor.untyped_storage() for tensor in tensors_out):
# -             if storage._cdata not in older and storage._cdata not in held:
# +         for tensor in [*tensors_in, *tensors_out]:
# +             storage = tensor.untyped_storage()
# +             if storage._cdata not in held:


# %% edit="arguments_remembered" code="dead_arguments_remembered"
# Source: one set for all storages that were ever seen
# What existed before is remembered by its key, also after its death.
# -     held, peak = {}, 0  # bytes of every storage that is not freed yet, by key
# +     held, peak, existed = {}, 0, set()
#
#       def report(tensors_in, tensors_out):
#           nonlocal peak
# -         older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
# +         existed.update(t.untyped_storage()._cdata for t in tensors_in if t.untyped_storage()._cdata not in held)
#           for storage in (tensor.untyped_storage() for tensor in tensors_out):
# -             if storage._cdata not in older and storage._cdata not in held:
# +             if storage._cdata not in existed and storage._cdata not in held:


# %% edit="elements" code="elements_for_bytes"
# Source: numel(), the usual count
#           older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
# -         for storage in (tensor.untyped_storage() for tensor in tensors_out):
# +         for tensor in tensors_out:
# +             storage = tensor.untyped_storage()
#               if storage._cdata not in older and storage._cdata not in held:
# -                 held[storage._cdata] = storage.nbytes()
# +                 held[storage._cdata] = tensor.numel()


# %% answer="every_result_counted" code="every_result_counted"
# Source: the idea that an operator allocates its result
# Views and in-place results count as new, until their storage dies.
def peak_above_entry(step) -> int:
    held = peak = 0

    def release(byte_count):
        nonlocal held
        held -= byte_count

    def report(tensors_in, tensors_out):
        nonlocal held, peak
        for tensor in tensors_out:
            storage = tensor.untyped_storage()
            held += storage.nbytes()
            weakref.finalize(storage, release, storage.nbytes())
        peak = max(peak, held)

    with Watch(report):
        step()
    return peak


# %% edit="existing_storages_counted" code="existing_storages_counted"
# Source: a `seen` set that begins empty
# A storage that existed before counts when an operator returns it.
#           nonlocal peak
# -         older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
# -         for storage in (tensor.untyped_storage() for tensor in tensors_out):
# -             if storage._cdata not in older and storage._cdata not in held:
# +         for tensor in tensors_out:
# +             storage = tensor.untyped_storage()
# +             if storage._cdata not in held:


# %% edit="held_at_the_end" code="held_at_the_end"
# Source: torch.cuda.memory_allocated() after a step
#           step()
# -     return peak
# +     return sum(held.values())


# %% answer="keys_never_dropped" code="keys_outlive_storages"
# Source: a `seen` set that only grows
# A new storage with the key of a dead one is taken for known.
def peak_above_entry(step) -> int:
    held, peak, seen = 0, 0, set()

    def release(byte_count):
        nonlocal held
        held -= byte_count

    def report(tensors_in, tensors_out):
        nonlocal held, peak
        seen.update(tensor.untyped_storage()._cdata for tensor in tensors_in)
        for tensor in tensors_out:
            storage = tensor.untyped_storage()
            if storage._cdata not in seen:
                seen.add(storage._cdata)
                held += storage.nbytes()
                weakref.finalize(storage, release, storage.nbytes())
        peak = max(peak, held)

    with Watch(report):
        step()
    return peak


# %% answer="counter_within_report" code="nothing_counted"
# Source: an assignment inside a nested function
# Each report makes a new counter, and the outer one stays 0.
def peak_above_entry(step) -> int:
    peak = 0

    def report(tensors_in, tensors_out):
        held = 0
        for tensor in tensors_out:
            held += tensor.untyped_storage().nbytes()
        peak = held
        return peak

    with Watch(report):
        step()
    return peak


# %% answer="nothing_released" code="nothing_released"
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


# %% edit="nonlocal_forgotten" code="raised_unbound_local_error"
# Source: an assignment inside a nested function
# Because: Python's message names the variable that is not declared nonlocal.
#       def report(tensors_in, tensors_out):
# -         nonlocal peak
#           older = {tensor.untyped_storage()._cdata for tensor in tensors_in}


# %% edit="released_with_tensor" code="released_with_tensor"
# Source: weakref.finalize(tensor, ...), which also runs
#           older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
# -         for storage in (tensor.untyped_storage() for tensor in tensors_out):
# +         for tensor in tensors_out:
# +             storage = tensor.untyped_storage()
#               if storage._cdata not in older and storage._cdata not in held:
#                   held[storage._cdata] = storage.nbytes()
# -                 weakref.finalize(storage, held.pop, storage._cdata)
# +                 weakref.finalize(tensor, held.pop, storage._cdata, None)


# %% edit="warm_up_first" code="step_called_again"
# Source: the second call that the course's meter measures
# A first call outside of the Watch leaves gradients and state behind.
#           peak = max(peak, sum(held.values()))
# +     step()


# %% edit="step_without_brackets" code="step_not_called"
# Source: a call without its brackets
# `step` is named in the block and not called.
#       with Watch(report):
# -         step()
# +         step


# %% edit="tensor_size" code="tensor_size_for_storage"
# Source: tensor.nbytes, which is the tensor's own size
#           older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
# -         for storage in (tensor.untyped_storage() for tensor in tensors_out):
# +         for tensor in tensors_out:
# +             storage = tensor.untyped_storage()
#               if storage._cdata not in older and storage._cdata not in held:
# -                 held[storage._cdata] = storage.nbytes()
# +                 held[storage._cdata] = tensor.nbytes


# %% edit="views_at_an_offset" code="views_at_an_offset_counted"
# Source: tensor.data_ptr(), the usual test for shared memory
#           nonlocal peak
# -         older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
# -         for storage in (tensor.untyped_storage() for tensor in tensors_out):
# -             if storage._cdata not in older and storage._cdata not in held:
# -                 held[storage._cdata] = storage.nbytes()
# -                 weakref.finalize(storage, held.pop, storage._cdata)
# +         older = {tensor.data_ptr() for tensor in tensors_in}
# +         for tensor in tensors_out:
# +             if tensor.data_ptr() not in older and tensor.data_ptr() not in held:
# +                 held[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
# +                 weakref.finalize(tensor.untyped_storage(), held.pop, tensor.data_ptr())


# %% edit="views_counted" code="views_counted"
# Source: id(tensor), as in loops that count parameters once
#           nonlocal peak
# -         older = {tensor.untyped_storage()._cdata for tensor in tensors_in}
# -         for storage in (tensor.untyped_storage() for tensor in tensors_out):
# -             if storage._cdata not in older and storage._cdata not in held:
# -                 held[storage._cdata] = storage.nbytes()
# -                 weakref.finalize(storage, held.pop, storage._cdata)
# +         older = {id(tensor) for tensor in tensors_in}
# +         for tensor in tensors_out:
# +             if id(tensor) not in older and id(tensor) not in held:
# +                 held[id(tensor)] = tensor.nbytes
# +                 weakref.finalize(tensor, held.pop, id(tensor))


# %% edit="watch_left_on" code="watch_left_on"
# Source: start() and stop() of other profilers
#           peak = max(peak, sum(held.values()))
#
# -     with Watch(report):
# -         step()
# +     watch = Watch(report)
# +     watch.__enter__()
# +     step()
