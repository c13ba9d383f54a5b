# Right answers to split_mlp.


# %% answer="by_index"
# Indices of the inner features, and Functions of its own at the top of the cell.
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous().clone()
        dist.all_reduce(gradient)
        return gradient


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        total = tensor.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class SplitMLP(nn.Module):
    def __init__(self, mlp, rank, world_size):
        super().__init__()
        up, self.activation, down = mlp
        own = torch.arange(up.out_features).tensor_split(world_size)[rank]
        self.up = copy_linear(up.weight[own].detach(), up.bias[own].detach())
        self.down = copy_linear(down.weight[:, own].detach(), down.bias.detach())

    def forward(self, hidden):
        inner = self.activation(self.up(Enter.apply(hidden)))
        return Leave.apply(inner @ self.down.weight.T) + self.down.bias


def split_mlp(mlp, rank, world_size):
    return SplitMLP(mlp, rank, world_size)


# %% answer="bias_taken_off_again"
# The layer `down` is called as it is, and its bias is subtracted before the sum.
class SplitMLP(nn.Module):
    def __init__(self, mlp, rank, world_size):
        super().__init__()
        up, self.activation, down = mlp
        self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
        self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)

    def forward(self, hidden):
        hidden = at_boundary(hidden, unchanged, sum_over_ranks)
        partial = self.down(self.activation(self.up(hidden))) - self.down.bias
        return at_boundary(partial, sum_over_ranks, unchanged) + self.down.bias


def split_mlp(mlp, rank, world_size):
    return SplitMLP(mlp, rank, world_size)


# %% answer="by_hooks"
# The sum of backward in a hook of the input.
class SplitMLP(nn.Module):
    def __init__(self, mlp, rank, world_size):
        super().__init__()
        up, self.activation, down = mlp
        self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
        self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)

    def forward(self, hidden):
        hidden = hidden.view_as(hidden)
        if hidden.requires_grad:
            hidden.register_hook(sum_over_ranks)
        partial = F.linear(self.activation(self.up(hidden)), self.down.weight)
        others = sum_over_ranks(partial.detach()) - partial.detach()
        return partial + others + self.down.bias


def split_mlp(mlp, rank, world_size):
    return SplitMLP(mlp, rank, world_size)


# %% answer="functional_collectives"
# PyTorch's functional all-reduce, which returns a new tensor.
class SplitMLP(nn.Module):
    def __init__(self, mlp, rank, world_size):
        super().__init__()
        up, self.activation, down = mlp
        self.up = copy_linear(up.weight.tensor_split(world_size)[rank], up.bias.tensor_split(world_size)[rank])
        self.down = copy_linear(down.weight.tensor_split(world_size, dim=1)[rank], down.bias)

    def forward(self, hidden):
        import torch.distributed._functional_collectives as functional

        def total(tensor):
            return functional.wait_tensor(functional.all_reduce(tensor.contiguous(), "sum", dist.group.WORLD))

        inner = self.activation(self.up(at_boundary(hidden, unchanged, total)))
        return at_boundary(inner @ self.down.weight.mT, total, unchanged) + self.down.bias


def split_mlp(mlp, rank, world_size):
    return SplitMLP(mlp, rank, world_size)
