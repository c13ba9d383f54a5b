# Wrong answers to offload_saved.
# Not here: hard_coded, because what unseen models save cannot be written down.

# %% answer="plain_baseline" code="nothing_offloaded"
# Source: a plain run
def offload_saved(model, far: FarMemory, threshold_bytes: int):
    return torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda packed: packed)


# %% answer="copied_from_lesson" code="nothing_offloaded"
# Source: the cell that shows what pack sees
def offload_saved(model, far: FarMemory, threshold_bytes: int):
    def show(tensor):
        kind = "a Parameter" if isinstance(tensor, torch.nn.Parameter) else ""
        print(f"{tuple(tensor.shape)!s:<10} {str(tensor.dtype)[6:]:<8} {tensor.nbytes:>6,} bytes {kind}")
        return tensor

    return torch.autograd.graph.saved_tensors_hooks(show, lambda packed: packed)


# %% answer="library_shortcut" code="nothing_offloaded"
# Source: PyTorch's save_on_cpu
def offload_saved(model, far: FarMemory, threshold_bytes: int):
    return torch.autograd.graph.save_on_cpu()


# %% edit="no_parameter_stays" code="parameters_offloaded"
# Source: hooks from PyTorch's tutorial, with a threshold
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         stays = tensor.nbytes < threshold_bytes


# %% edit="only_parameters_themselves" code="views_of_parameters_offloaded"
# Source: isinstance
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         stays = tensor.nbytes < threshold_bytes or isinstance(tensor, torch.nn.Parameter)


# %% edit="only_trained_parameters" code="frozen_parameters_offloaded"
# Source: the list that an optimizer takes
# -     own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
# +     own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters() if parameter.requires_grad}


# %% edit="elements" code="threshold_in_elements"
# Source: numel compared with bytes
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         stays = tensor.numel() < threshold_bytes or tensor.untyped_storage().data_ptr() in own


# %% edit="storage" code="storage_compared"
# Source: bytes of memory are bytes of a storage
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         storage = tensor.untyped_storage()
# +         stays = storage.nbytes() < threshold_bytes or storage.data_ptr() in own


# %% edit="equal_stays" code="threshold_itself_kept"
# Source: "larger than the threshold"
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         stays = tensor.nbytes <= threshold_bytes or tensor.untyped_storage().data_ptr() in own


# %% edit="in_bfloat16" code="sent_in_fewer_bits"
# Source: half of the bytes over the link
# -         return tensor if stays else far.put(tensor)
# +         return tensor if stays else far.put(tensor.bfloat16() if tensor.is_floating_point() else tensor)
# ...
# -         return packed if isinstance(packed, torch.Tensor) else far.get(packed)
# +         if isinstance(packed, torch.Tensor):
# +             return packed
# +         tensor = far.get(packed)
# +         return tensor.float() if tensor.is_floating_point() else tensor


# %% edit="device_copy" code="device_copy_kept"
# Source: state copied, and the device copy kept
# -         return tensor if stays else far.put(tensor)
# +         return tensor if stays else (far.put(tensor), tensor)
# ...
# -         return packed if isinstance(packed, torch.Tensor) else far.get(packed)
# +         return packed if isinstance(packed, torch.Tensor) else far.get(packed[0])


# %% edit="pair_of_hooks" code="hooks_returned"
# Source: the hooks are the answer
# -     return torch.autograd.graph.saved_tensors_hooks(pack, unpack)
# +     return pack, unpack


# %% edit="address_of_the_tensor" code="slices_of_parameters_offloaded"
# Source: data_ptr() of the tensor, which a slice does not share
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         stays = tensor.nbytes < threshold_bytes or tensor.data_ptr() in own


# %% edit="any_parameter" code="other_parameters_kept"
# Source: isinstance, in addition to storages
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         stays = stays or isinstance(tensor, torch.nn.Parameter)


# %% edit="shapes" code="parameter_shapes_kept"
# Source: parameters recognised by their shape
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         shapes = [shape for one in model.parameters() for shape in (one.shape, one.shape[::-1])]
# +         stays = tensor.nbytes < threshold_bytes or tensor.shape in shapes


# %% edit="contiguous_only" code="views_kept"
# Source: a copy of plain memory, as in C
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         stays = stays or not tensor.is_contiguous()


# %% edit="stash" code="last_copies_kept"
# Source: TRL's OffloadActivations, max_fwd_stash_size
# +     stash = []
#       own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
# ...
# -         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# -         return tensor if stays else far.put(tensor)
# +         stays = tensor.nbytes < threshold_bytes or tensor.untyped_storage().data_ptr() in own
# +         if stays:
# +             return tensor
# +         stash.append(tensor)
# +         del stash[:-2]
# +         return far.put(tensor)


# %% edit="last_fetched" code="last_copies_kept"
# Source: a cache of one tensor
# -         return packed if isinstance(packed, torch.Tensor) else far.get(packed)
# +         if not isinstance(packed, torch.Tensor):
# +             packed = unpack.last = far.get(packed)
# +         return packed


# %% edit="masks_as_floats" code="another_tensor_returned"
# Source: everything fetched is a number
# -         return packed if isinstance(packed, torch.Tensor) else far.get(packed)
# +         return packed if isinstance(packed, torch.Tensor) else far.get(packed).float()
