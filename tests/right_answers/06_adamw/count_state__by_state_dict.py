# Source: state_dict() instead of state
# The tensors of state_dict() share the storages of the state.
def count_state(optimizer) -> tuple[int, int]:
    entries = [entry for state in optimizer.state_dict()["state"].values() for entry in state.values()]
    tensors = {t.untyped_storage()._cdata: t for t in entries if isinstance(t, torch.Tensor)}.values()
    sizes = [t.untyped_storage().nbytes() for t in tensors]
    return sum(size // t.element_size() for size, t in zip(sizes, tensors)), sum(sizes)
