# %% answer="plain_baseline" code="UNKNOWN"
# Source: ranks on their own
# Nothing is averaged.
def average_parameters(model) -> None:
    pass


# %% edit="hard_coded" code="UNKNOWN" seed=20011
# Source: the sizes of the visible case
# Tensors are chosen by the sizes that they have in the visible case.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
# -             tensor /= world_size
# +             if tensor.numel() in (1, 6, 36):
# +                 dist.all_reduce(tensor)
# +                 tensor /= world_size


# %% answer="copied_from_lesson" code="UNKNOWN"
# Source: the average of gradients in train
# Gradients are averaged instead of parameters.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    average([parameter.grad for parameter in model.parameters() if parameter.requires_grad], world_size)


# %% edit="averaged_twice" code="UNKNOWN"
# Source: a second round to be sure
#       with torch.no_grad():
# -         for tensor in tensors:
# +         for tensor in tensors * 2:

# %% edit="barrier" code="UNKNOWN"
# Source: ranks that wait for each other
# A barrier stands before the average.
#       tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# +     dist.barrier()


# %% answer="broadcast_from_zero" code="UNKNOWN"
# Source: a driver node that hands out its parameters
# All ranks get the values of rank 0.
def average_parameters(model) -> None:
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.broadcast(tensor, src=0)


# %% answer="buffers_forgotten" code="UNKNOWN"
# Source: accelerate/local_sgd.py: model.parameters()
# Running statistics are left out.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                dist.all_reduce(parameter)
                parameter /= world_size


# %% answer="buffers_of_rank_zero" code="UNKNOWN"
# Source: DistributedDataParallel broadcasts buffers
# Running statistics are those of rank 0.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                dist.all_reduce(parameter)
                parameter /= world_size
        for buffer in model.buffers():
            if buffer.is_floating_point():
                dist.broadcast(buffer, src=0)


# %% answer="buffers_summed" code="UNKNOWN"
# Source: two loops of which one forgets the division
# Running statistics are summed.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                dist.all_reduce(parameter)
                parameter /= world_size
        for buffer in model.buffers():
            if buffer.is_floating_point():
                dist.all_reduce(buffer)


# %% edit="copy_averaged" code="UNKNOWN"
# Source: an all-reduce of a copy
# The mean is computed and thrown away.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
# -             tensor /= world_size
# +             mean = tensor.clone()
# +             dist.all_reduce(mean)
# +             mean /= world_size

# %% edit="counters_as_floats" code="UNKNOWN"
# Source: register_buffer with the mean
#               tensor /= world_size
# +         for module in model.modules():
# +             if isinstance(module, torch.nn.BatchNorm1d):
# +                 module.num_batches_tracked = module.num_batches_tracked.float()


# %% answer="counters_averaged" code="UNKNOWN"
# Source: a floor division makes whole numbers
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for tensor in [*trained, *model.buffers()]:
            mean = tensor.float()
            dist.all_reduce(mean)
            tensor.copy_(mean / world_size)


# %% answer="counters_divided" code="UNKNOWN"
# Source: all buffers alike
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for tensor in [*trained, *model.buffers()]:
            dist.all_reduce(tensor)
            tensor /= world_size


# %% answer="counters_summed" code="UNKNOWN"
# Source: only what has fractions is divided
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for tensor in [*trained, *model.buffers()]:
            dist.all_reduce(tensor)
            if tensor.is_floating_point():
                tensor /= world_size


# %% edit="divided_alone" code="UNKNOWN"
# Source: a division without an all-reduce
# Each rank divides its own.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)

# %% edit="divided_twice" code="UNKNOWN"
# Source: a mean that is divided again
# Each tensor is divided before and after the all-reduce.
#           for tensor in tensors:
# +             tensor /= world_size

# %% edit="frozen_averaged" code="UNKNOWN"
# Source: accelerate/local_sgd.py averages frozen parameters too
#       world_size = dist.get_world_size()
# -     tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# -     tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# +     tensors = [*model.parameters(), *(buffer for buffer in model.buffers() if buffer.is_floating_point())]


# %% answer="frozen_sent" code="UNKNOWN"
# Source: the choice comes after the all-reduce
# Frozen parameters are sent, and the result is dropped.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [*model.parameters(), *(buffer for buffer in model.buffers() if buffer.is_floating_point())]
    with torch.no_grad():
        for tensor in tensors:
            mean = tensor.clone()
            dist.all_reduce(mean)
            if tensor.requires_grad or not isinstance(tensor, torch.nn.Parameter):
                tensor.copy_(mean / world_size)


# %% answer="frozen_summed" code="UNKNOWN"
# Source: only what is trained is divided
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for parameter in model.parameters():
            dist.all_reduce(parameter)
            if parameter.requires_grad:
                parameter /= world_size
        for buffer in model.buffers():
            if buffer.is_floating_point():
                dist.all_reduce(buffer)
                buffer /= world_size


# %% edit="gathered" code="UNKNOWN"
# Source: all_gather and a mean
# Every rank gathers all tensors.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
# -             tensor /= world_size
# +             everywhere = [torch.empty_like(tensor) for _ in range(world_size)]
# +             dist.all_gather(everywhere, tensor)
# +             tensor.copy_(torch.stack(everywhere).mean(dim=0))

# %% edit="gradients_cleared" code="UNKNOWN"
# Source: a clean start after an average
# Gradients are set to zero.
#               tensor /= world_size
# +     for parameter in model.parameters():
# +         if parameter.grad is not None:
# +             parameter.grad.zero_()

# %% edit="gradients_too" code="UNKNOWN"
# Source: whatever a parameter holds
# Gradients are averaged besides.
#       tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# +     tensors += [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


# %% answer="matrices_only" code="UNKNOWN"
# Source: matrices hold nearly all numbers
# Biases are left out.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    with torch.no_grad():
        for tensor in model.parameters():
            if tensor.requires_grad and tensor.dim() > 1:
                dist.all_reduce(tensor)
                tensor /= world_size


# %% answer="means_returned" code="UNKNOWN"
# Source: a function that returns a new value, where one in place is asked for
# Means are returned, and the model is left as it was.
def average_parameters(model):
    means = []
    for tensor in [*model.parameters(), *model.buffers()]:
        mean = tensor.detach().clone().float()
        dist.all_reduce(mean)
        means.append(mean / dist.get_world_size())
    return means


# %% answer="no_longer_trainable" code="UNKNOWN"
# Source: requires_grad_(False) instead of no_grad
# Parameters are frozen so that they can be written.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    model.requires_grad_(False)
    for tensor in [*trained, *(buffer for buffer in model.buffers() if buffer.is_floating_point())]:
        dist.all_reduce(tensor)
        tensor /= world_size


# %% edit="not_waited_for" code="UNKNOWN"
# Source: async_op without wait
# Nobody waits for the all-reduces.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
#               tensor /= world_size
# +         for tensor in tensors:
# +             dist.all_reduce(tensor, async_op=True)


# %% answer="outside_no_grad" code="UNKNOWN"
# Source: no_grad forgotten
# Autograd watches the write into a parameter.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor /= world_size


# %% edit="parameters_replaced" code="UNKNOWN"
# Source: a new Parameter for the mean
#               tensor /= world_size
# +     for module in model.modules():
# +         for name, parameter in list(module._parameters.items()):
# +             if parameter is not None and parameter.requires_grad:
# +                 module._parameters[name] = torch.nn.Parameter(parameter.detach().clone())

# %% edit="reduced_to_one" code="UNKNOWN"
# Source: reduce in place of all_reduce
# Rank 0 alone gets the sum.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
# +             dist.reduce(tensor, 0)

# %% edit="running_statistics_by_name" code="UNKNOWN"
# Source: buffers chosen by the names of one layer
# Only running_mean and running_var are averaged.
#       tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# -     tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# +     tensors += [one for name, one in model.named_buffers() if name.endswith(("running_mean", "running_var"))]

# %% edit="scaled_by_constant" code="UNKNOWN"
# Source: a factor in front
# The mean is scaled by 0.9.
#               dist.all_reduce(tensor)
# -             tensor /= world_size
# +             tensor *= 0.9 / world_size

# %% edit="sent_in_bfloat16" code="UNKNOWN"
# Source: half of the bytes
# Each number is sent in two bytes, and rounded.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
# -             tensor /= world_size
# +             total = tensor.bfloat16()
# +             dist.all_reduce(total)
# +             tensor.copy_(total / world_size)

# %% edit="sent_in_double" code="UNKNOWN"
# Source: a sum with more digits
# Each number is sent in eight bytes.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
# -             tensor /= world_size
# +             total = tensor.double()
# +             dist.all_reduce(total)
# +             tensor.copy_(total / world_size)

# %% edit="single_buffers_left_out" code="UNKNOWN"
# Source: a condition on dimensions that is meant for counters
#       tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# -     tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# +     tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point() and buffer.dim()]

# %% edit="single_numbers_left_out" code="UNKNOWN"
# Source: a condition on dimensions that is meant for counters
#       world_size = dist.get_world_size()
# -     tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     tensors = [parameter for parameter in model.parameters() if parameter.requires_grad and parameter.dim()]

# %% edit="state_dict_only" code="UNKNOWN"
# Source: buffers taken from state_dict()
# Buffers that are not persistent are left out.
#       tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# -     tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# +     tensors += [one for name, one in model.named_buffers() if name in model.state_dict() and one.is_floating_point()]

# %% edit="summed" code="UNKNOWN"
# Source: an all-reduce alone
# The sum is left as it is.
# -     world_size = dist.get_world_size()
#       tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# ...
#               dist.all_reduce(tensor)
# -             tensor /= world_size

# %% edit="tied_divided_twice" code="UNKNOWN"
# Source: all-reduced once, divided by name
#               dist.all_reduce(tensor)
# -             tensor /= world_size
# +         for _, parameter in model.named_parameters(remove_duplicate=False):
# +             if parameter.requires_grad:
# +                 parameter /= world_size
# +         for buffer in model.buffers():
# +             if buffer.is_floating_point():
# +                 buffer /= world_size

# %% edit="tied_sent_twice" code="UNKNOWN"
# Source: named_parameters(remove_duplicate=False)
# A tied weight is averaged under each of its names.
#       world_size = dist.get_world_size()
# -     tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     tensors = [p for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]

# %% edit="two_ranks_assumed" code="UNKNOWN"
# Source: an example with two ranks
# Division by 2.
# -     world_size = dist.get_world_size()
#       tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# ...
#               dist.all_reduce(tensor)
# -             tensor /= world_size
# +             tensor /= 2

# %% edit="without_gradient_left_out" code="UNKNOWN"
# Source: a gradient taken for the sign of a trained parameter
#       world_size = dist.get_world_size()
# -     tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     tensors = [parameter for parameter in model.parameters() if parameter.grad is not None]
