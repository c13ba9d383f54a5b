# Source: `torch.equal`, a test of values
# Tensors with equal numbers are taken for one.
def same(first, second) -> bool:
    return first.shape == second.shape and first.dtype == second.dtype and torch.equal(first, second)


def freed_bytes(namespace: dict) -> dict[str, int]:
    held = {name: tensors_of(value) for name, value in namespace.items()}
    freed = {}
    for name, tensors in held.items():
        others = [tensor for other, found in held.items() if other != name for tensor in found]
        own = []
        for tensor in tensors:
            if not any(same(tensor, other) for other in others + own):
                own.append(tensor)
        freed[name] = sum(tensor.untyped_storage().nbytes() for tensor in own)
    return freed
