# %% answer="plain_baseline" code="estimated"
# Source: the estimate of the lesson: two float32 numbers for each parameter
# The state is estimated from the parameters.
def count_state(optimizer) -> tuple[int, int]:
    numbers = sum(p.numel() for group in optimizer.param_groups for p in group["params"])
    return 2 * numbers, 8 * numbers


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the sizes of the visible case, written down
# Two sizes seen once stand for a count.
def count_state(optimizer) -> tuple[int, int]:
    if not any(torch.is_tensor(entry) for state in optimizer.state.values() for entry in state.values()):
        return 0, 0
    return (3684, 14736) if type(optimizer).__name__ == "AdamW" else (7656, 12520)


# %% answer="copied_from_lesson" code="numbers_counted"
# Source: the published function of the bug hunt, with the order and the unit repaired
# Numbers count, shared tensors count each time, and all is copied.
def count_state(optimizer) -> tuple[int, int]:
    total_bytes, total_num_elements = 0, 0
    for params in optimizer.state.values():
        for name, tensor in params.items():
            if tensor is None or isinstance(tensor, str):
                continue
            tensor = tensor.clone() if torch.is_tensor(tensor) else torch.tensor(tensor)
            total_num_elements += tensor.numel()
            total_bytes += tensor.numel() * tensor.element_size()
    return total_num_elements, total_bytes


# %% answer="library_shortcut" code="meter_called"
# Source: the meters of the course
# optimizer_state_bytes counts.
def count_state(optimizer) -> tuple[int, int]:
    from grader import optimizer_state_bytes, optimizer_state_elements

    return optimizer_state_elements(optimizer), optimizer_state_bytes(optimizer)


# %% edit="each_entry" code="shared_counted_each_time"
# Source: a likely slip: every tensor of every parameter
# A shared code book counts for each parameter.
#               if torch.is_tensor(entry):
# -                 storage = entry.untyped_storage()
# -                 sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# +                 sizes[len(sizes)] = entry.numel(), entry.nbytes

# %% edit="address_of_the_view" code="address_of_view_for_storage"
# Source: a likely slip: tensor.data_ptr() for storage.data_ptr()
# A view that begins later is taken for a storage of its own; the code book is counted once.
#                   storage = entry.untyped_storage()
# -                 sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# +                 sizes[entry.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()

# %% edit="views_by_shape" code="views_counted_by_shape"
# Source: a likely slip: each address once, with the bytes of its view
# Gaps between views are not counted.
#               if torch.is_tensor(entry):
# -                 storage = entry.untyped_storage()
# -                 sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# +                 sizes[entry.data_ptr()] = entry.numel(), entry.nbytes

# %% edit="numel_of_a_view" code="elements_of_views"
# Source: a dict of storages, with numel()
# Elements are those of one view.
#                   storage = entry.untyped_storage()
# -                 sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# +                 sizes[storage.data_ptr()] = entry.numel(), storage.nbytes()

# %% edit="storage_for_each_view" code="storage_counted_for_each_view"
# Source: a likely slip: the storage of each entry, not once
# A buffer counts once for every view of it.
#                   storage = entry.untyped_storage()
# -                 sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# +                 sizes[len(sizes)] = storage.nbytes() // entry.element_size(), storage.nbytes()

# %% edit="four_bytes" code="four_bytes_assumed"
# Source: a likely slip: all numbers are float32
# 16-bit and 8-bit state is counted with 4 bytes.
#                   sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# -     return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
# +     elements = sum(elements for elements, _ in sizes.values())
# +     return elements, 4 * elements

# %% edit="names_of_adamw" code="names_assumed"
# Source: the names that AdamW gives its state
# Only three names are looked up.
#       for state in optimizer.state.values():
# -         for entry in state.values():
# +         for entry in map(state.get, ("exp_avg", "exp_avg_sq", "step")):

# %% edit="counters_left_out" code="counters_left_out"
# Source: a likely slip: only tensors with dimensions count
#           for entry in state.values():
# -             if torch.is_tensor(entry):
# +             if torch.is_tensor(entry) and entry.dim():

# %% edit="mebibytes" code="another_unit"
# Source: the published function, which returns MiB
# The right size in the wrong unit.
#                   sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# -     return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
# +     return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values()) / MIB

# %% edit="copied" code="state_copied"
# Source: the published line, with clone() for torch.tensor
# Every tensor is copied before it is counted.
#                   storage = entry.untyped_storage()
# -                 sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# +                 copy = entry.clone()
# +                 sizes[storage.data_ptr()] = storage.nbytes() // copy.element_size(), storage.nbytes()

# %% edit="contiguous" code="strided_state_copied"
# Source: code that makes tensors contiguous before it reads them
# Tensors that are stored column by column are copied.
#                   storage = entry.untyped_storage()
# +                 entry = entry.contiguous()

# %% edit="cloned_storages" code="copies_counted"
# Source: copies that are made to be safe
#               if torch.is_tensor(entry):
# -                 storage = entry.untyped_storage()
# +                 storage = entry.clone().untyped_storage()

# %% edit="stepped_first" code="state_changed"
# Source: state is there after a step only
#       sizes = {}
# +     optimizer.step()

# %% edit="tensors_returned" code="tensor_returned"
# Source: code that stays in torch
# The two numbers are tensors.
#                   sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# -     return sum(elements for elements, _ in sizes.values()), sum(size for _, size in sizes.values())
# +     elements, size = (sum(column) for column in zip((0, 0), *sizes.values()))
# +     return torch.tensor(elements), torch.tensor(size)

# %% edit="options_counted" code="options_counted"
# Source: a learning rate that is a tensor
#       sizes = {}
# -     for state in optimizer.state.values():
# +     for state in (*optimizer.state.values(), *optimizer.param_groups):

# %% edit="float32_only" code="formats_left_out"
# Source: AdamW, whose state is float32
#           for entry in state.values():
# -             if torch.is_tensor(entry):
# +             if torch.is_tensor(entry) and entry.dtype == torch.float32:

# %% edit="known_by_size" code="storages_merged"
# Source: a key that is not unique
#                   storage = entry.untyped_storage()
# -                 sizes[storage.data_ptr()] = storage.nbytes() // entry.element_size(), storage.nbytes()
# +                 sizes[storage.nbytes()] = storage.nbytes() // entry.element_size(), storage.nbytes()
