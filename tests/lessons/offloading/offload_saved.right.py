# %% answer="generator"
def offload_saved(model, far: FarMemory, threshold_bytes: int):
    import contextlib

    storages = [parameter.untyped_storage()._cdata for parameter in model.parameters()]

    def pack(tensor):
        if tensor.untyped_storage()._cdata in storages or tensor.numel() * tensor.element_size() < threshold_bytes:
            return False, tensor
        return True, far.put(tensor)

    @contextlib.contextmanager
    def sending():
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda pair: far.get(pair[1]) if pair[0] else pair[1]):
            yield

    return sending()


# %% answer="class_of_hooks"
class _Sending(torch.autograd.graph.saved_tensors_hooks):
    def __init__(self, model, far, threshold_bytes):
        self.model, self.far, self.threshold_bytes = model, far, threshold_bytes
        super().__init__(self.pack, self.unpack)

    def is_own(self, tensor):
        return tensor.untyped_storage().data_ptr() in [one.data_ptr() for one in self.model.parameters()]

    def pack(self, tensor):
        return self.far.put(tensor) if tensor.nbytes >= self.threshold_bytes and not self.is_own(tensor) else tensor

    def unpack(self, packed):
        return self.far.get(packed) if hasattr(packed, "nbytes") and not torch.is_tensor(packed) else packed


def offload_saved(model, far: FarMemory, threshold_bytes: int):
    return _Sending(model, far, threshold_bytes)


# %% answer="functions_in_the_packed_place"
def offload_saved(model, far: FarMemory, threshold_bytes: int):
    addresses = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def pack(tensor):
        if tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in addresses:
            return lambda: tensor
        sent = far.put(tensor.detach().contiguous())
        return lambda: far.get(sent)

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed())


# %% answer="flattened"
def offload_saved(model, far: FarMemory, threshold_bytes: int):
    parameters = list(model.parameters())

    def pack(tensor):
        if any(tensor is one or tensor._base is one for one in parameters) or tensor.nbytes < threshold_bytes:
            return tensor, None
        return far.put(tensor.flatten()), tensor.shape

    def unpack(packed):
        kept, shape = packed
        return kept if shape is None else far.get(kept).view(shape)

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)
