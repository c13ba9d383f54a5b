# %% edit="divided_first"
# -             dist.reduce_scatter_tensor(own, F.pad(of_flat, (0, len(own) * world_size - total)))
# -             return own / world_size, of_inputs
# +             dist.reduce_scatter_tensor(own, F.pad(of_flat / world_size, (0, len(own) * world_size - total)))
# +             return own, of_inputs

# %% edit="backward_of_tensors"
# -             of_inputs, of_flat = torch.autograd.grad(outputs, (leaf, flat), gradient)
# +             outputs.backward(gradient)
# +             of_inputs, of_flat = leaf.grad, flat.grad

# %% answer="saved_tensors_hooks"
def run_sharded(run, shard, total: int, inputs):
    world_size = dist.get_world_size()

    class Gathered(torch.autograd.Function):
        @staticmethod
        def forward(ctx, shard):
            return gather(shard, total)

        @staticmethod
        def backward(ctx, gradient):
            own = torch.empty_like(shard)
            dist.reduce_scatter_tensor(own, F.pad(gradient, (0, len(own) * world_size - total)))
            return own / world_size

    flat, again = Gathered.apply(shard), []
    storage = flat.untyped_storage().data_ptr()

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() != storage:
            return tensor
        return tensor.shape, tensor.stride(), tensor.storage_offset()

    def unpack(packed):
        if isinstance(packed, torch.Tensor):
            return packed
        if not again:
            again.append(gather(shard, total))
        return again[0].as_strided(*packed)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        outputs = run(flat, inputs)
    outputs.register_hook(lambda gradient: None)
    return outputs
