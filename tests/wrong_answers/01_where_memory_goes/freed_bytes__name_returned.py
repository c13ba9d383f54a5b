# Source: the question 'which name is the culprit?'
# The name itself is returned, as text.
def freed_bytes(namespace: dict) -> dict[str, int]:
    sizes = {name: sum(t.untyped_storage().nbytes() for t in tensors_of(value)) for name, value in namespace.items()}
    return max(sizes, key=sizes.get)
