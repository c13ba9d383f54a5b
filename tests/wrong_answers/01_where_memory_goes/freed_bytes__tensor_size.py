# Source: numel() * element_size(), the size that most guides give
# The tensor's own size stands for its storage.
def freed_bytes(namespace: dict) -> dict[str, int]:
    reached = {}
    for name, value in namespace.items():
        reached[name] = {t.untyped_storage().data_ptr(): t.numel() * t.element_size() for t in tensors_of(value)}
    freed = {}
    for name in namespace:
        others = {key for other in namespace if other != name for key in reached[other]}
        freed[name] = sum(size for key, size in reached[name].items() if key not in others)
    return freed
