# Source: the question 'which name is the culprit?'
# Only the name that frees the most is returned.
def freed_bytes(namespace: dict) -> dict[str, int]:
    reached = {name: {t.untyped_storage() for t in tensors_of(value)} for name, value in namespace.items()}
    freed = {}
    for name, own in reached.items():
        others = {s._cdata for other, found in reached.items() if other != name for s in found}
        freed[name] = sum({s._cdata: s.nbytes() for s in own if s._cdata not in others}.values())
    culprit = max(freed, key=freed.get)
    return {culprit: freed[culprit]}
