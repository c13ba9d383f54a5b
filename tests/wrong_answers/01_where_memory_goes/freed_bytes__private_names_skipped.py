# Source: dir() listings, which leave out names that begin with _
# A notebook's _ and _12 are not looked at.
def freed_bytes(namespace: dict) -> dict[str, int]:
    public = {name: value for name, value in namespace.items() if not name.startswith("_")}
    storages = {
        name: {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors_of(value)}
        for name, value in public.items()
    }
    freed = {}
    for name, own in storages.items():
        others = set().union(*(found for other, found in storages.items() if other != name))
        freed[name] = sum(size for key, size in own.items() if key not in others)
    return freed
