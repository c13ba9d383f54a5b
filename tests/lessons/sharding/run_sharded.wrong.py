# Wrong answers to run_sharded.
# Not here: library_shortcut, because fully_shard takes modules, and not a function of a vector.
# Not here: hard_coded, because outputs of unseen weights cannot be written down.

# %% answer="plain_baseline" code="raised_value_error"
# Source: one process, as before
# Because: run names the number of weights that it was given, and how many it takes.
def run_sharded(run, shard, total: int, inputs):
    return run(shard, inputs)


# %% answer="copied_from_lesson" code="gathered_weights_kept"
# Source: run_gathered of the lesson
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

    return run(Gathered.apply(shard), inputs)


# %% answer="without_graph" code="no_outputs"
# Source: no_grad to save memory
def run_sharded(run, shard, total: int, inputs):
    with torch.no_grad():
        return run(gather(shard, total), inputs)


# %% answer="gather_only" code="no_gradient"
# Source: a gather whose backward nobody wrote
def run_sharded(run, shard, total: int, inputs):
    return run(gather(shard, total), inputs)


# %% edit="weights_saved" code="gathered_weights_kept"
# Source: save_for_backward of all that backward needs
# -             ctx.save_for_backward(inputs)
# -             return run(gather(shard, total), inputs)
# +             flat = gather(shard, total)
# +             ctx.save_for_backward(inputs, flat)
# +             return run(flat, inputs)
# ...
# -             leaf, flat = ctx.saved_tensors[0].detach().requires_grad_(), gather(shard, total).requires_grad_()
# +             leaf, flat = (tensor.detach().requires_grad_() for tensor in ctx.saved_tensors)

# %% edit="kept_for_later" code="more_units_held"
# Source: an attribute for a look at the weights
# -             return run(gather(shard, total), inputs)
# +             ctx.flat = gather(shard, total)
# +             return run(ctx.flat, inputs)

# %% edit="summed" code="gradients_summed"
# Source: a reduce-scatter taken for a mean
# -             return own / world_size, of_inputs
# +             return own, of_inputs

# %% edit="divided_twice" code="divided_twice"
# Source: a mean of means
# -             return own / world_size, of_inputs
# +             return own / world_size**2, of_inputs

# %% edit="own_share" code="own_gradient_kept"
# Source: the share of this rank's own gradient
# -             own = torch.empty_like(shard)
# -             dist.reduce_scatter_tensor(own, F.pad(of_flat, (0, len(own) * world_size - total)))
# -             return own / world_size, of_inputs
# +             own = F.pad(of_flat, (0, len(shard) * world_size - total)).chunk(world_size)[dist.get_rank()]
# +             return own, of_inputs

# %% edit="inputs_divided" code="inputs_divided"
# Source: every gradient divided alike
# -             return own / world_size, of_inputs
# +             return own / world_size, of_inputs / world_size

# %% edit="padding_forgotten" code="raised_value_error"
# Source: the padded vector given to the unit
# Because: run names the number of weights that it was given, and how many it takes.
# -             return run(gather(shard, total), inputs)
# +             return run(gather(shard, len(shard) * world_size), inputs)

# %% edit="no_input_gradient" code="no_gradient"
# Source: a gradient for the weights only
# -             return own / world_size, of_inputs
# +             return own / world_size, None

# %% edit="inputs_averaged" code="inputs_averaged"
# Source: every gradient averaged over the ranks
# -             return own / world_size, of_inputs
# +             dist.all_reduce(of_inputs)
# +             return own / world_size, of_inputs / world_size

# %% edit="not_padded" code="vector_not_padded"
# Source: the gradient as autograd gives it
# -             dist.reduce_scatter_tensor(own, F.pad(of_flat, (0, len(own) * world_size - total)))
# +             dist.reduce_scatter_tensor(own, of_flat)

# %% edit="no_graph" code="backward_without_graph"
# Source: backward taken for ordinary code
# -             with torch.enable_grad():
# -                 outputs = run(flat, leaf)
# +             outputs = run(flat, leaf)

# %% edit="whole_gradient_kept" code="more_units_held"
# Source: an attribute for a look at the gradient
# -             own = torch.empty_like(shard)
# +             own, shard.whole_gradient = torch.empty_like(shard), of_flat


# %% answer="gathered_for_each_saved_tensor" code="gathered_too_often"
# Source: saved-tensor hooks
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

    flat = Gathered.apply(shard)
    place = flat.untyped_storage().data_ptr()

    def pack(tensor):
        if tensor.untyped_storage().data_ptr() == place:
            return tensor.size(), tensor.stride(), tensor.storage_offset()
        return tensor

    def unpack(packed):
        return gather(shard, total).as_strided(*packed) if isinstance(packed, tuple) else packed

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return run(flat, inputs)
