# %% answer="lists_of_shares"
def make_sharded_step(model, learning_rate: float, epsilon: float):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    share = -(-sum(parameter.numel() for parameter in parameters) // world_size)

    def shares_of(tensors):
        flat = flatten(tensors)
        return list(F.pad(flat, (0, share * world_size - len(flat))).chunk(world_size))

    own = torch.nn.Parameter(shares_of(parameters)[rank].clone())
    optimizer = torch.optim.AdamW([own], learning_rate, eps=epsilon)

    def step():
        reduced = torch.zeros(share)
        dist.reduce_scatter(reduced, shares_of([parameter.grad for parameter in parameters]))
        own.grad = reduced / world_size
        optimizer.step()
        gathered = [torch.empty(share) for _ in range(world_size)]
        dist.all_gather(gathered, own.detach())
        write_back(torch.cat(gathered), parameters)

    return step


# %% edit="divided_first"
# -         dist.reduce_scatter_tensor(own.grad, F.pad(gradients, (0, padding)))
# -         own.grad /= world_size
# +         dist.reduce_scatter_tensor(own.grad, F.pad(gradients / world_size, (0, padding)))


# %% answer="optimizer_cleared"
def make_sharded_step(model, learning_rate: float, epsilon: float):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    total = sum(parameter.numel() for parameter in parameters)
    padded = (total + world_size - 1) // world_size * world_size
    master = torch.zeros(padded)
    master[:total] = flatten(parameters)
    own = master.view(world_size, -1)[rank].clone().requires_grad_()
    optimizer = torch.optim.AdamW([own], lr=learning_rate, eps=epsilon, foreach=False)

    def step():
        gradients = torch.zeros(padded)
        gradients[:total] = flatten([parameter.grad for parameter in parameters])
        own.grad = torch.zeros_like(own)
        dist.reduce_scatter_tensor(own.grad, gradients)
        own.grad.div_(world_size)
        optimizer.step()
        optimizer.zero_grad()
        dist.all_gather_into_tensor(master, own.detach())
        write_back(master, parameters)

    return step
