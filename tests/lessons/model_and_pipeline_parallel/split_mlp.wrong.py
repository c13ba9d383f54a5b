# Wrong answers to split_mlp.


# %% answer="plain_baseline" code="whole_on_every_rank"
# Source: the MLP as it is
class SplitMLP(nn.Module):
    def __init__(self, mlp, rank, world_size):
        super().__init__()
        self.up, self.activation, self.down = mlp

    def forward(self, hidden):
        return self.down(self.activation(self.up(hidden)))


def split_mlp(mlp, rank, world_size):
    return SplitMLP(mlp, rank, world_size)


# %% answer="library_shortcut" code="no_up_and_down"
# Source: DTensor's parallelize_module
def split_mlp(mlp, rank, world_size):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (world_size,))
    return parallelize_module(mlp, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})


# %% edit="hard_coded" code="raised_key_error" seed=20011
# Source: the shares of the visible case
# Because: the dictionary has the visible sizes only, and Python names the size that is missing.
# -         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
# +         shares = {40: (20, 20), 43: (15, 14, 14)}[up.out_features]
# +         start, end = sum(shares[:rank]), sum(shares[: rank + 1])
# +         self.up = copy_linear(up.weight[start:end], up.bias[start:end])


# %% edit="copied_from_lesson" code="chunk_for_tensor_split"
# Source: chunk, as the cell on attention cuts its heads
# -         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
# -         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
# +         self.up = copy_linear(up.weight.chunk(world_size)[rank], up.bias.chunk(world_size)[rank])
# +         self.down = copy_linear(down.weight.chunk(world_size, dim=1)[rank], down.bias)


# %% edit="no_sum_in_backward" code="all_reduce_missing_in_backward"
# Source: the forward alone looks right
# -         hidden = at_boundary(hidden, unchanged, sum_over_ranks)


# %% edit="sum_in_both_directions" code="gradient_summed_behind_the_sum"
# Source: torch.distributed.nn.all_reduce, whose backward is an all-reduce
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return at_boundary(partial, sum_over_ranks, sum_over_ranks) + self.down.bias


# %% edit="library_all_reduce" code="gradient_summed_behind_the_sum"
# Source: the differentiable all-reduce of torch.distributed.nn
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         from torch.distributed.nn.functional import all_reduce
# +
# +         return all_reduce(partial) + self.down.bias


# %% edit="sum_at_the_end_only" code="gradient_summed_behind_the_sum"
# Source: one boundary with a sum in both directions
# -         hidden = at_boundary(hidden, unchanged, sum_over_ranks)
# ...
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return at_boundary(partial, sum_over_ranks, sum_over_ranks) + self.down.bias


# %% edit="plain_all_reduce" code="gradient_cut_off"
# Source: a collective in the forward, which autograd does not see
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return sum_over_ranks(partial.detach()) + self.down.bias


# %% edit="bias_in_the_layer" code="bias_on_every_rank"
# Source: the layer called as it is
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return at_boundary(self.down(self.activation(self.up(hidden))), sum_over_ranks, unchanged)


# %% edit="bias_shared_out" code="bias_gradient_shared_out"
# Source: each rank adds its share of the bias before the sum
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         inner = self.activation(self.up(hidden))
# +         partial = F.linear(inner, self.down.weight, self.down.bias / dist.get_world_size())
# +         return at_boundary(partial, sum_over_ranks, unchanged)


# %% edit="bias_forgotten" code="bias_left_out"
# Source: F.linear without the bias, and nothing behind it
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return at_boundary(partial, sum_over_ranks, unchanged)


# %% edit="nothing_summed" code="partials_not_summed"
# Source: each rank's output taken for the whole
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return partial + self.down.bias


# %% edit="averaged" code="partials_averaged"
# Source: gradients of data parallel training, which are averaged
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return at_boundary(partial, sum_over_ranks, unchanged) / dist.get_world_size() + self.down.bias


# %% answer="views" code="view_of_the_whole"
# Source: parameters made of slices
class SplitMLP(nn.Module):
    def __init__(self, mlp, rank, world_size):
        super().__init__()
        self.up, self.activation, self.down = mlp
        self.up.weight = nn.Parameter(self.up.weight.data.tensor_split(world_size)[rank])
        self.up.bias = nn.Parameter(self.up.bias.data.tensor_split(world_size)[rank])
        self.down.weight = nn.Parameter(self.down.weight.data.tensor_split(world_size, dim=1)[rank])

    def forward(self, hidden):
        hidden = at_boundary(hidden, unchanged, sum_over_ranks)
        partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
        return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias


def split_mlp(mlp, rank, world_size):
    return SplitMLP(mlp, rank, world_size)


# %% edit="whole_in_a_list" code="whole_block_kept"
# Source: the whole block kept aside
# -         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
# +         self.whole = [mlp]
# +         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])


# %% answer="rows_twice" code="second_layer_cut_along_outputs"
# Source: the same cut for both layers, and the inner features collected in between
class SplitMLP(nn.Module):
    def __init__(self, mlp, rank, world_size):
        super().__init__()
        up, self.activation, down = mlp
        self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
        self.down = copy_linear(down.weight.tensor_split(world_size)[rank], down.bias.tensor_split(world_size)[rank])

    def forward(self, hidden):
        hidden = at_boundary(hidden, unchanged, sum_over_ranks)
        inner = self.activation(self.up(hidden))
        return inner @ self.down.weight[:, : inner.shape[-1]].T + self.down.bias


def split_mlp(mlp, rank, world_size):
    return SplitMLP(mlp, rank, world_size)


# %% answer="parts_joined" code="output_of_another_shape"
# Source: an all-gather, as the outputs of a column-parallel layer are collected
class SplitMLP(nn.Module):
    def __init__(self, mlp, rank, world_size):
        super().__init__()
        up, self.activation, down = mlp
        self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
        self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)

    def forward(self, hidden):
        part = F.linear(self.activation(self.up(hidden)), self.down.weight)
        parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, part)
        return torch.cat(parts, dim=-1)


def split_mlp(mlp, rank, world_size):
    return SplitMLP(mlp, rank, world_size)


# %% edit="bias_over_n" code="bias_not_held_whole"
# Source: the second bias divided by the ranks, and added before the sum
# -         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
# +         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias / world_size)
# ...
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return at_boundary(self.down(self.activation(self.up(hidden))), sum_over_ranks, unchanged)


# %% edit="bias_on_rank_0" code="bias_not_held_whole"
# Source: Megatron's older layers, whose bias is zero on all ranks but one
# -         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
# +         bias = down.bias if rank == 0 else torch.zeros_like(down.bias)
# +         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], bias)
# ...
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return at_boundary(self.down(self.activation(self.up(hidden))), sum_over_ranks, unchanged)


# %% edit="bias_used_on_one_rank" code="bias_cut_off"
# Source: `if rank == 0` around the second bias
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# +         if dist.get_rank() == 0:
# +             partial = partial + self.down.bias
# +         return at_boundary(partial, sum_over_ranks, unchanged)


# %% edit="boundaries_exchanged" code="boundaries_exchanged"
# Source: the sum in forward taken to the input
# -         hidden = at_boundary(hidden, unchanged, sum_over_ranks)
# +         hidden = at_boundary(hidden, sum_over_ranks, unchanged)
# ...
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return at_boundary(partial, unchanged, sum_over_ranks) + self.down.bias


# %% edit="gelu" code="activation_fixed"
# Source: the formula of the text, down(gelu(up(x)))
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# +         partial = F.linear(F.gelu(self.up(hidden)), self.down.weight)
