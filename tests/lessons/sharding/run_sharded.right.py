# %% edit="divided_first"
# -             dist.reduce_scatter_tensor(own, F.pad(of_flat, (0, len(own) * world_size - total)))
# -             return own / world_size, of_inputs
# +             dist.reduce_scatter_tensor(own, F.pad(of_flat / world_size, (0, len(own) * world_size - total)))
# +             return own, of_inputs

# %% edit="backward_of_tensors"
# -             of_inputs, of_flat = torch.autograd.grad(outputs, (leaf, flat), gradient)
# +             outputs.backward(gradient)
# +             of_inputs, of_flat = leaf.grad, flat.grad

# %% edit="one_leaf_after_the_other"
# -             leaf, flat = ctx.saved_tensors[0].detach().requires_grad_(), gather(shard, total).requires_grad_()
# +             leaf = ctx.saved_tensors[0].clone().requires_grad_()
# +             flat = torch.nn.Parameter(gather(shard, total))


# %% answer="checkpoint_reentrant"
def run_sharded(run, shard, total: int, inputs):
    from torch.utils.checkpoint import checkpoint

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

    return checkpoint(lambda own, rows: run(Gathered.apply(own), rows), shard, inputs, use_reentrant=True)
