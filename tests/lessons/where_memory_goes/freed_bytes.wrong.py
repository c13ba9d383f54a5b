# %% answer="plain_baseline" code="tensor_sizes_added"
# Source: the sum that one writes first: numbers of each name's tensors
# Neither sharing nor storages are looked at.
def freed_bytes(namespace: dict) -> dict[str, int]:
    return {name: sum(tensor.nbytes for tensor in tensors_of(value)) for name, value in namespace.items()}


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible programs, written down
# Bytes seen once stand for a count.
SCRIPT = {
    "epoch": 0,
    "run_name": 0,
    "model": 0,
    "optimizer": 208032,
    "scheduler": 0,
    "inputs": 0,
    "batch": 0,
    "best": 156480,
    "losses": 0,
    "logits": 8040,
    "first_row": 42240,
}
FINE_TUNING = {
    "encoder": 47040,
    "optimizer": 12768,
    "checkpoint": 0,
    "best_weights": 103908,
    "projector": 17088,
    "word_vectors": 0,
    "token_ids": 3920,
    "scores": 29400,
    "padding": 15680,
    "no_rows": 0,
}
NOTEBOOK = {
    "math": 0,
    "square": 0,
    "Out": 792,
    "_12": 0,
    "_": 264,
    "table": 0,
    "last_column": 0,
    "copied": 4576,
    "rows": 4664,
    "pieces": 640,
    "chosen": 0,
    "history": 440,
}


def freed_bytes(namespace: dict) -> dict[str, int]:
    for known in (SCRIPT, FINE_TUNING, NOTEBOOK):
        if set(namespace) == set(known):
            return known
    return dict.fromkeys(namespace, 0)


# %% answer="copied_from_lesson" code="top_level_tensors_only"
# Source: the cell of this lesson that prints the storage of first_row
# Only names that are tensors themselves hold anything, and nothing is shared.
def freed_bytes(namespace: dict) -> dict[str, int]:
    freed = {}
    for name, value in namespace.items():
        if isinstance(value, torch.Tensor):
            freed[name] = value.untyped_storage().nbytes()
        else:
            freed[name] = 0
    return freed


# %% answer="shared_in_part" code="all_or_nothing"
# Source: a quick test for sharing, with all()
# A name that shares any of its memory is taken to free nothing.
def freed_bytes(namespace: dict) -> dict[str, int]:
    storages = {
        name: {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors_of(value)}
        for name, value in namespace.items()
    }
    freed = {}
    for name, own in storages.items():
        others = set().union(*(found for other, found in storages.items() if other != name))
        freed[name] = sum(own.values()) if all(pointer not in others for pointer in own) else 0
    return freed


# %% edit="containers_skipped" code="tensors_missed"
# Source: the scan of globals() for tensors and models that forums recommend
#       for name, value in namespace.items():
# +         if not isinstance(value, (torch.Tensor, nn.Module, torch.optim.Optimizer)):
# +             continue
#           for tensor in tensors_of(value):


# %% edit="counted_for_each_tensor" code="counted_for_each_tensor"
# Source: a sum over state_dict(), which lists tied weights twice
#               names_of.setdefault(storage.data_ptr(), set()).add(name)
# -             bytes_of[storage.data_ptr()] = storage.nbytes()
# +             bytes_of[storage.data_ptr()] = bytes_of.get(storage.data_ptr(), 0) + storage.nbytes()


# %% edit="elements" code="bytes_of_an_element_assumed"
# Source: numel(), the usual count of parameters
#               names_of.setdefault(storage.data_ptr(), set()).add(name)
# -             bytes_of[storage.data_ptr()] = storage.nbytes()
# +             bytes_of[storage.data_ptr()] = tensor.numel()


# %% answer="every_holder_counted" code="every_holder_counted"
# Source: memory profilers that print what an object reaches (pympler's asizeof)
# Every name that holds a storage gets its bytes.
def freed_bytes(namespace: dict) -> dict[str, int]:
    result = {}
    for name, value in namespace.items():
        storages = {}
        for tensor in tensors_of(value):
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        result[name] = sum(storages.values())
    return result


# %% answer="first_holder_gets_all" code="first_holder_gets_all"
# Source: the habit of a `seen` set, as in numel counts of tied parameters
# The first name that holds a storage gets it.
def freed_bytes(namespace: dict) -> dict[str, int]:
    seen = set()
    freed = {}
    for name, value in namespace.items():
        freed[name] = 0
        for tensor in tensors_of(value):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in seen:
                seen.add(storage.data_ptr())
                freed[name] += storage.nbytes()
    return freed


# %% answer="deleted_one_after_another" code="last_holder_gets_all"
# Source: a clean-up cell that deletes all names in turn and prints memory after each
def held(names: dict) -> int:
    storages = {}
    for tensor in tensors_of(dict(names)):
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
    return sum(storages.values())


def freed_bytes(namespace: dict) -> dict[str, int]:
    left = dict(namespace)
    freed = {}
    for name in namespace:
        before = held(left)
        del left[name]
        freed[name] = before - held(left)
    return freed


# %% edit="zeros_left_out" code="names_without_bytes_left_out"
# Source: a dict that is filled only where something is found
#               bytes_of[storage.data_ptr()] = storage.nbytes()
# -     freed = dict.fromkeys(namespace, 0)
# +     freed = {}
# ...
#           if len(names) == 1:
# -             freed[min(names)] += bytes_of[pointer]
# +             freed[min(names)] = freed.get(min(names), 0) + bytes_of[pointer]


# %% answer="namespace_emptied" code="namespace_changed"
# Source: trying `del` itself, on the namespace that was handed over
# Every name is really deleted, and none comes back.
def freed_bytes(namespace: dict) -> dict[str, int]:
    def held():
        storages = [t.untyped_storage() for value in namespace.values() for t in tensors_of(value)]
        return {storage.data_ptr(): storage.nbytes() for storage in storages}

    freed = {}
    for name in list(namespace):
        before = held()
        value = namespace.pop(name)
        after = held()
        freed[name] = sum(before.values()) - sum(after.values())
        del value
    return freed


# %% answer="compared_with_itself" code="nothing_freed"
# Source: a set of all storages, made once before the loop
# Every storage is found among 'the others', since these contain the name itself.
def freed_bytes(namespace: dict) -> dict[str, int]:
    everything = {t.untyped_storage().data_ptr() for t in tensors_of(list(namespace.values()))}
    freed = {}
    for name, value in namespace.items():
        own = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors_of(value)}
        freed[name] = sum(size for pointer, size in own.items() if pointer not in everything)
    return freed


# %% edit="largest_only" code="one_name_only"
# Source: the question 'which name is the culprit?'
#               freed[min(names)] += bytes_of[pointer]
# -     return freed
# +     culprit = max(freed, key=freed.get)
# +     return {culprit: freed[culprit]}


# %% edit="private_names_skipped" code="private_names_left_out"
# Source: dir() listings, which leave out names that begin with _
# -     names_of, bytes_of = {}, {}
# +     namespace = {name: value for name, value in namespace.items() if not name.startswith("_")}
# +     names_of, bytes_of = {}, {}
#       for name, value in namespace.items():


# %% answer="getsizeof" code="python_objects_measured"
# Source: sys.getsizeof, the first hit for 'size of a Python object'
import sys


def freed_bytes(namespace: dict) -> dict[str, int]:
    return {name: sys.getsizeof(value, 0) for name, value in namespace.items()}


# %% edit="shared_memory_split" code="shared_memory_split"
# Source: the proportional set size (PSS) of an operating system
#       for pointer, names in names_of.items():
# -         if len(names) == 1:
# -             freed[min(names)] += bytes_of[pointer]
# +         for name in names:
# +             freed[name] += bytes_of[pointer] / len(names)


# %% edit="holders_not_names" code="shared_within_a_name"
# Source: a count of references to each storage, as sys.getrefcount has it
#               storage = tensor.untyped_storage()
# -             names_of.setdefault(storage.data_ptr(), set()).add(name)
# +             names_of.setdefault(storage.data_ptr(), []).append(name)


# %% edit="tensor_size" code="tensor_size_for_storage"
# Source: numel() * element_size(), the size that most guides give
#               names_of.setdefault(storage.data_ptr(), set()).add(name)
# -             bytes_of[storage.data_ptr()] = storage.nbytes()
# +             bytes_of[storage.data_ptr()] = tensor.numel() * tensor.element_size()


# %% edit="keyed_by_address" code="told_apart_by_address"
# Source: `tensor.data_ptr()`, the usual test for shared memory
#               storage = tensor.untyped_storage()
# -             names_of.setdefault(storage.data_ptr(), set()).add(name)
# -             bytes_of[storage.data_ptr()] = storage.nbytes()
# +             names_of.setdefault(tensor.data_ptr(), set()).add(name)
# +             bytes_of[tensor.data_ptr()] = storage.nbytes()


# %% edit="keyed_by_tensor" code="told_apart_by_tensor"
# Source: `id(tensor)`, as in many loops that count parameters once
#               storage = tensor.untyped_storage()
# -             names_of.setdefault(storage.data_ptr(), set()).add(name)
# -             bytes_of[storage.data_ptr()] = storage.nbytes()
# +             names_of.setdefault(id(tensor), set()).add(name)
# +             bytes_of[id(tensor)] = storage.nbytes()
