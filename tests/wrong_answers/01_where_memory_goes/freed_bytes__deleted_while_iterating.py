# Source: `del` inside the loop over the same dict
# The namespace changes size during iteration.
import gc


def freed_bytes(namespace: dict) -> dict[str, int]:
    freed = {}
    for name in namespace:
        before = sum(t.untyped_storage().nbytes() for t in tensors_of(dict(namespace)))
        del namespace[name]
        gc.collect()
        freed[name] = before - sum(t.untyped_storage().nbytes() for t in tensors_of(dict(namespace)))
    return freed
