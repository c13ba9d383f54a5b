# %% answer="plain_baseline" code="nothing_outside"
# Source: the number that a training script prints
# Allocated stands for all that is in use.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {"outside": 0, "after_empty_cache": allocated, "for_new_tensors": total - allocated}


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the answers of the visible devices, written down
# Numbers seen once, by the device's total.
KNOWN = {
    16944988160: (1408237568, 2748813320, 14196174840),
    25769803776: (521142272, 8156872704, 17612931072),
    42949672960: (540016640, 5429568512, 37520104448),
    16106127360: (574619648, 12530010624, 3576116736),
}


def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    outside, after, new = KNOWN[total]
    return {"outside": outside, "after_empty_cache": after, "for_new_tensors": new}


# %% answer="copied_from_lesson" code="context_of_the_lesson"
# Source: the figures of the V100 that this lesson prints
# The context of one published run is taken for that of every device.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    context = 1343 * MIB
    return {
        "outside": context,
        "after_empty_cache": context + allocated,
        "for_new_tensors": total - context - allocated,
    }


# %% answer="given_back" code="bytes_given_back"
# Source: what empty_cache() gives back
# What goes is returned, not what stays.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": reserved - allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }


# %% answer="cache_for_outside" code="cache_for_outside"
# Source: reserved less allocated, a difference that guides print
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": reserved - allocated,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }


# %% answer="cache_stays" code="cache_not_emptied"
# Source: nvidia-smi before and after empty_cache() with nothing cached
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied,
        "for_new_tensors": total - occupied + reserved - allocated,
    }


# %% answer="free_of_nvidia_smi" code="cache_not_used_again"
# Source: mem_get_info(), whose free bytes leave out the cache
# The cache is not seen as room for new tensors.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied,
    }


# %% answer="cache_subtracted" code="cache_subtracted"
# Source: a sign
# The cache is taken away from the room.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied - (reserved - allocated),
    }


# %% answer="cache_taken_for_outside" code="cache_taken_for_outside"
# Source: nvidia-smi less memory_allocated()
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - allocated,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }


# %% answer="context_as_room" code="context_counted_as_free"
# Source: total_memory less memory_allocated()
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - allocated,
    }


# %% answer="free_for_outside" code="free_taken_for_outside"
# Source: the word 'outside'
# What is free is taken for what is outside.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": total - occupied,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }


# %% answer="other_keys" code="key_missing"
# Source: the words of the docstring instead of its keys
# A key has another name.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    cache = reserved - allocated
    return {"context": occupied - reserved, "after_empty_cache": occupied - cache, "free": total - occupied + cache}


# %% answer="mebibytes" code="mebibytes_for_bytes"
# Source: the unit of nvidia-smi
# MiB are returned for bytes.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": (occupied - reserved) // MIB,
        "after_empty_cache": (occupied - reserved + allocated) // MIB,
        "for_new_tensors": (total - occupied + reserved - allocated) // MIB,
    }


# %% answer="cache_only" code="only_cache_counted"
# Source: reserved less allocated, called 'free inside reserved'
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": reserved - allocated,
    }


# %% answer="total_less_reserved" code="only_reserve_subtracted"
# Source: total_memory less memory_reserved(), a formula of many answers
# Neither context nor cache is seen.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - reserved,
    }


# %% answer="context_vanishes" code="only_tensors_stay"
# Source: memory_reserved() after empty_cache()
# The context is forgotten: only tensors are left.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }


# %% answer="tensors_as_room" code="tensors_counted_as_free"
# Source: free bytes plus all that is reserved
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved + allocated,
        "for_new_tensors": total - occupied + reserved,
    }


# %% answer="tensors_for_cache" code="tensors_freed_for_cache"
# Source: the name 'cache', read as the tensors
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - allocated,
        "for_new_tensors": total - occupied + reserved - allocated,
    }


# %% answer="tensors_vanish" code="tensors_freed_too"
# Source: the name empty_cache, read as 'free the GPU'
# All that is reserved is taken to be freed.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    return {
        "outside": occupied - reserved,
        "after_empty_cache": occupied - reserved,
        "for_new_tensors": total - occupied + reserved - allocated,
    }


# %% answer="as_a_tuple" code="wrong_type"
# Source: a function that returns three values
# A tuple is returned for a dict.
def read_occupied(allocated: int, reserved: int, occupied: int, total: int) -> dict[str, int]:
    cache = reserved - allocated
    return occupied - reserved, occupied - cache, total - occupied + cache
