# Wrong answers to make_sharded_step.
# Not here: library_shortcut, because the step is not asked for by hand.
# Not here: hard_coded, because weights of unseen models cannot be written down.

# %% answer="plain_baseline" code="nothing_sent"
# Source: one process, as before
def make_sharded_step(model, learning_rate: float, epsilon: float):
    return torch.optim.AdamW(model.parameters(), lr=learning_rate, eps=epsilon).step


# %% answer="copied_from_lesson" code="adamw_not_used"
# Source: halves of the lesson, with a plain step
def make_sharded_step(model, learning_rate: float, epsilon: float):
    world_size = dist.get_world_size()

    def step():
        for parameter in model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.detach().sub_(learning_rate * parameter.grad / world_size)

    return step


# %% answer="whole_state" code="state_not_sharded"
# Source: data parallel training: equal weights, and no share
def make_sharded_step(model, learning_rate: float, epsilon: float):
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=learning_rate, eps=epsilon)

    def step():
        for parameter in parameters:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()

    return step


# %% edit="all_reduced" code="whole_all_reduce"
# Source: the all-reduce of lesson 15, and then a share of it
# -         own.grad = torch.empty_like(own)
# -         dist.reduce_scatter_tensor(own.grad, F.pad(gradients, (0, padding)))
# +         dist.all_reduce(gradients)
# +         own.grad = F.pad(gradients, (0, padding)).chunk(world_size)[rank].clone()

# %% edit="summed" code="gradients_summed"
# Source: a reduce-scatter taken for a mean
#           dist.reduce_scatter_tensor(own.grad, F.pad(gradients, (0, padding)))
# -         own.grad /= world_size

# %% edit="divided_twice" code="divided_twice"
# Source: gradients divided before and after
# -         own.grad /= world_size
# +         own.grad /= world_size**2

# %% edit="own_rows" code="own_rows_only"
# Source: the share of this rank's own gradient
# -         own.grad = torch.empty_like(own)
# -         dist.reduce_scatter_tensor(own.grad, F.pad(gradients, (0, padding)))
# -         own.grad /= world_size
# +         own.grad = F.pad(gradients, (0, padding)).chunk(world_size)[rank].clone()

# %% edit="tail_left" code="tail_left_out"
# Source: // without rounding up, and no padding
# -     share = -(-total // world_size)
# +     share = total // world_size
# ...
# -     own = F.pad(flatten(parameters), (0, padding)).chunk(world_size)[rank].clone()
# +     own = flatten(parameters)[share * rank : share * (rank + 1)].clone()
# ...
# -         dist.reduce_scatter_tensor(own.grad, F.pad(gradients, (0, padding)))
# +         dist.reduce_scatter_tensor(own.grad, gradients[: share * world_size])
# ...
# -         gathered = torch.empty(share * world_size)
# -         dist.all_gather_into_tensor(gathered, own)
# -         write_back(gathered, parameters)
# +         gathered = torch.empty(share * world_size)
# +         dist.all_gather_into_tensor(gathered, own)
# +         write_back(torch.cat([gathered, flatten(parameters)[share * world_size :]]), parameters)

# %% edit="not_written" code="not_written_back"
# Source: the gathered vector taken for the model's weights
#           dist.all_gather_into_tensor(gathered, own)
# -         write_back(gathered, parameters)

# %% edit="default_epsilon" code="setting_left_out"
# Source: AdamW with a learning rate only
# -     optimizer = torch.optim.AdamW([own], lr=learning_rate, eps=epsilon)
# +     optimizer = torch.optim.AdamW([own], lr=learning_rate)

# %% edit="adam" code="another_weight_decay"
# Source: Adam in place of AdamW
# -     optimizer = torch.optim.AdamW([own], lr=learning_rate, eps=epsilon)
# +     optimizer = torch.optim.Adam([own], lr=learning_rate, eps=epsilon)

# %% edit="sgd" code="adamw_not_used"
# Source: another optimizer
# -     optimizer = torch.optim.AdamW([own], lr=learning_rate, eps=epsilon)
# +     optimizer = torch.optim.SGD([own], lr=learning_rate)

# %% edit="made_each_time" code="moments_begin_again"
# Source: an optimizer made inside of step
# -         optimizer.step()
# +         torch.optim.AdamW([own], lr=learning_rate, eps=epsilon).step()

# %% edit="scaled_rate" code="learning_rate_scaled"
# Source: linear scaling with the number of ranks
# -     optimizer = torch.optim.AdamW([own], lr=learning_rate, eps=epsilon)
# +     optimizer = torch.optim.AdamW([own], lr=learning_rate * world_size, eps=epsilon)

# %% edit="default_rate" code="setting_left_out"
# Source: AdamW without a learning rate
# -     optimizer = torch.optim.AdamW([own], lr=learning_rate, eps=epsilon)
# +     optimizer = torch.optim.AdamW([own], eps=epsilon)

# %% edit="not_padded" code="vector_not_padded"
# Source: // without rounding up
# -     share = -(-total // world_size)
# -     padding = share * world_size - total
# -     own = F.pad(flatten(parameters), (0, padding)).chunk(world_size)[rank].clone()
# +     share, padding = total // world_size, 0
# +     own = flatten(parameters)[share * rank : share * (rank + 1)].clone()

# %% edit="gathered_before" code="gathered_before_the_step"
# Source: the all-reduce of lesson 15, whose second half comes before the step
# -         optimizer.step()
# -         gathered = torch.empty(share * world_size)
# -         dist.all_gather_into_tensor(gathered, own)
# -         write_back(gathered, parameters)
# +         gathered = torch.empty(share * world_size)
# +         dist.all_gather_into_tensor(gathered, own)
# +         write_back(gathered, parameters)
# +         optimizer.step()

# %% edit="accumulated" code="gradients_never_cleared"
# Source: gradients accumulated as backward does
# -         own.grad = torch.empty_like(own)
# -         dist.reduce_scatter_tensor(own.grad, F.pad(gradients, (0, padding)))
# -         own.grad /= world_size
# +         mine = torch.empty_like(own)
# +         dist.reduce_scatter_tensor(mine, F.pad(gradients, (0, padding)))
# +         own.grad = mine / world_size + (0 if own.grad is None else own.grad)

# %% edit="amsgrad" code="state_above_share"
# Source: a third number for each weight
# -     optimizer = torch.optim.AdamW([own], lr=learning_rate, eps=epsilon)
# +     optimizer = torch.optim.AdamW([own], lr=learning_rate, eps=epsilon, amsgrad=True)


# %% answer="tensor_by_tensor" code="collectives_for_each_tensor"
# Source: two collectives for each tensor
def make_sharded_step(model, learning_rate: float, epsilon: float):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]

    def padded(tensor):
        return F.pad(tensor.detach().flatten(), (0, -tensor.numel() % world_size))

    own = [padded(parameter).chunk(world_size)[rank].clone() for parameter in parameters]
    optimizer = torch.optim.AdamW(own, lr=learning_rate, eps=epsilon)

    def step():
        for parameter, part in zip(parameters, own, strict=True):
            part.grad = torch.empty_like(part)
            dist.reduce_scatter_tensor(part.grad, padded(parameter.grad) / world_size)
        optimizer.step()
        for parameter, part in zip(parameters, own, strict=True):
            whole = torch.empty(len(part) * world_size)
            dist.all_gather_into_tensor(whole, part)
            write_back(whole, [parameter])

    return step


# %% answer="whole_tensors" code="whole_tensors_dealt"
# Source: ZeRO-1 by tensors, as torch's ZeroRedundancyOptimizer deals them
def make_sharded_step(model, learning_rate: float, epsilon: float):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    mine = parameters[rank::world_size]
    optimizer = torch.optim.AdamW(mine, lr=learning_rate, eps=epsilon) if mine else None

    def step():
        for number, parameter in enumerate(parameters):
            dist.reduce(parameter.grad, number % world_size)
            parameter.grad /= world_size
        if optimizer:
            optimizer.step()
        for number, parameter in enumerate(parameters):
            dist.broadcast(parameter.detach(), number % world_size)

    return step


# %% answer="optimizer_returned" code="no_step_returned"
# Source: a step taken for an object that has one
def make_sharded_step(model, learning_rate: float, epsilon: float):
    return torch.optim.AdamW(model.parameters(), lr=learning_rate, eps=epsilon)


# %% edit="gradients_gathered" code="whole_vectors_gathered"
# Source: an all-gather in place of the reduce-scatter: every rank adds up what all ranks have
# -         own.grad = torch.empty_like(own)
# -         dist.reduce_scatter_tensor(own.grad, F.pad(gradients, (0, padding)))
# -         own.grad /= world_size
# +         everyone = [torch.empty_like(gradients) for _ in range(world_size)]
# +         dist.all_gather(everyone, gradients)
# +         own.grad = F.pad(sum(everyone) / world_size, (0, padding)).chunk(world_size)[rank]

# %% edit="broadcast_too" code="more_than_needed"
# Source: DistributedDataParallel's broadcast at the start, at every step
#           write_back(gathered, parameters)
# +         for parameter in parameters:
# +             dist.broadcast(parameter.data, 0)
