# %% answer="what_is_missing"
# How much is missing, and who could give it.
def find_cause(asked: int, total: int, free: int, own: int, allocated: int, unallocated: int) -> str:
    missing = asked - free - unallocated
    if missing <= 0:
        return "fragmentation"
    return "too large" if missing > total - own - free else "other processes"


# %% answer="device_for_itself"
# What this process cannot give up: its context and its tensors.
def find_cause(asked: int, total: int, free: int, own: int, allocated: int, unallocated: int) -> str:
    kept = own - unallocated
    if kept + asked > total:
        return "too large"
    return "fragmentation" if asked <= unallocated + free else "other processes"


# %% answer="list_of_remedies"
# A loop over the remedies, in their order.
def find_cause(asked: int, total: int, free: int, own: int, allocated: int, unallocated: int) -> str:
    found = free
    for cause, gained in (("fragmentation", unallocated), ("other processes", total - free - own)):
        found += gained
        if asked <= found:
            return cause
    return "too large"
