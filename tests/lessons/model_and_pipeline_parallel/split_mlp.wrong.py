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


# %% edit="copied_from_lesson" code="shares_of_other_sizes"
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


# %% edit="plain_all_reduce" code="gradient_cut_off"
# Source: a collective in the forward, which autograd does not see
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return sum_over_ranks(partial.detach()) + self.down.bias


# %% edit="bias_in_the_layer" code="bias_on_every_rank"
# Source: the layer called as it is
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         return at_boundary(self.down(self.activation(self.up(hidden))), sum_over_ranks, unchanged)


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


# %% answer="rows_twice" code="cut_along_the_other_dimension"
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


# %% edit="bias_used_on_one_rank" code="bias_cut_off"
# Source: `if rank == 0` around the second bias
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# +         if dist.get_rank() == 0:
# +             partial = partial + self.down.bias
# +         return at_boundary(partial, sum_over_ranks, unchanged)


# %% edit="stored_transposed" code="stored_transposed"
# Source: [inputs, outputs], as in the formula x @ W
# -         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
# -         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
# +         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
# +         self.up.weight = nn.Parameter(self.up.weight.T.clone())
# +         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
# ...
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# +         partial = F.linear(self.activation(hidden @ self.up.weight + self.up.bias), self.down.weight)


# %% edit="divided_without_rest" code="rest_left_out"
# Source: out_features // world_size, as for even shares
# -         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
# -         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
# +         size = up.out_features // world_size
# +         own = slice(rank * size, (rank + 1) * size)
# +         self.up = copy_linear(up.weight[own], up.bias[own])
# +         self.down = copy_linear(down.weight[:, own], down.bias)


# %% edit="in_float64" code="more_than_a_share_held"
# Source: double precision against rounding
# -         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
# +         self.up.double()
# +         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
# ...
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# +         partial = F.linear(self.activation(self.up(hidden.double())).float(), self.down.weight)


# %% edit="parts_gathered" code="other_collectives"
# Source: an all-gather of the parts, added up on each rank
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         parts = [torch.empty_like(partial) for _ in range(dist.get_world_size())]
# +         dist.all_gather(parts, partial.detach())
# +         parts[dist.get_rank()] = partial
# +         return sum(parts) + self.down.bias


# %% edit="summed_row_by_row" code="not_one_all_reduce"
# Source: a loop over the rows of the output
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         rows = [at_boundary(one, sum_over_ranks, unchanged) for one in partial]
# +         return torch.stack(rows) + self.down.bias


# %% edit="padded_with_zeros" code="computed_with_the_whole"
# Source: shares put into a weight of the whole size
# -         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
# +         self.sides = sum(len(one) for one in up.bias.tensor_split(world_size)[:rank]), up.out_features
# +         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
# ...
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# +         inner = self.activation(self.up(hidden))
# +         sides = self.sides[0], self.sides[1] - self.sides[0] - inner.shape[-1]
# +         partial = F.linear(F.pad(inner, sides), F.pad(self.down.weight, sides))


# %% edit="down_of_another_rank" code="other_features_held"
# Source: a negative index
# -         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)
# +         self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[-rank], down.bias)


# %% edit="first_bias_forgotten" code="not_copied"
# Source: weights copied, the first bias left at zero
# -         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
# +         bias = torch.zeros(len(up.bias.tensor_split(world_size)[rank]))
# +         self.up = copy_linear(up.weight.tensor_split(world_size)[rank], bias)


# %% edit="summed_on_rank_0" code="output_differs_between_ranks"
# Source: dist.reduce, which leaves the sum on one rank
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         def sum_on_rank_0(tensor):
# +             total = tensor.clone()
# +             dist.all_reduce(total)
# +             return total if dist.get_rank() == 0 else tensor.clone()
# +
# +         return at_boundary(partial, sum_on_rank_0, unchanged) + self.down.bias


# %% edit="activation_after_the_sum" code="same_wrong_output"
# Source: the activation at the end of the block
# -         partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
# -         return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias
# +         partial = F.linear(self.up(hidden), self.down.weight)
# +         return self.activation(at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias)
