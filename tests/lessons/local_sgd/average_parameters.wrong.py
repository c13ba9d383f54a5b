# %% answer="plain_baseline" code="nothing_averaged"
# Source: ranks on their own
# Nothing is averaged.
def average_parameters(model) -> None:
    pass


# %% edit="hard_coded" code="some_left_out" seed=20011
# Source: the sizes of the visible case
# Tensors are chosen by the sizes that they have in the visible case.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
# -             tensor /= world_size
# +             if tensor.numel() in (1, 6, 36):
# +                 dist.all_reduce(tensor)
# +                 tensor /= world_size


# %% answer="copied_from_lesson" code="no_tensor_averaged"
# Source: the average of gradients in train
# Gradients are averaged instead of parameters.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    average_tensors([parameter.grad for parameter in model.parameters() if parameter.requires_grad], world_size)


# %% answer="outside_no_grad" code="averaged_outside_no_grad"
# Source: no_grad forgotten
# Autograd watches the write into a parameter.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor /= world_size


# %% answer="buffers_forgotten" code="buffers_forgotten"
# Source: accelerate/local_sgd.py: model.parameters()
# Running statistics are left out.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                dist.all_reduce(parameter)
                parameter /= world_size


# %% edit="copy_averaged" code="copy_averaged"
# Source: an all-reduce of a copy
# The mean is computed and thrown away.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
# -             tensor /= world_size
# +             mean = tensor.clone()
# +             dist.all_reduce(mean)
# +             mean /= world_size


# %% answer="counters_divided" code="integer_buffer_divided"
# Source: all buffers alike
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for tensor in [*trained, *model.buffers()]:
            dist.all_reduce(tensor)
            tensor /= world_size


# %% answer="counters_averaged" code="counters_changed"
# Source: a floor division makes whole numbers
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.no_grad():
        for tensor in [*trained, *model.buffers()]:
            mean = tensor.float()
            dist.all_reduce(mean)
            tensor.copy_(mean / world_size)


# %% edit="frozen_averaged" code="frozen_changed"
# Source: accelerate/local_sgd.py averages frozen parameters too
#       world_size = dist.get_world_size()
# -     tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# -     tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# +     tensors = [*model.parameters(), *(buffer for buffer in model.buffers() if buffer.is_floating_point())]


# %% answer="frozen_sent" code="frozen_sent"
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


# %% edit="state_dict_only" code="some_left_out"
# Source: buffers taken from state_dict()
# Buffers that are not persistent are left out.
#       tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# -     tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# +     tensors += [one for name, one in model.named_buffers() if name in model.state_dict() and one.is_floating_point()]

# %% edit="without_gradient_left_out" code="some_left_out"
# Source: a gradient taken for the sign of a trained parameter
#       world_size = dist.get_world_size()
# -     tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     tensors = [parameter for parameter in model.parameters() if parameter.grad is not None]


# %% answer="matrices_only" code="some_left_out"
# Source: matrices hold nearly all numbers
# Biases are left out.
def average_parameters(model) -> None:
    world_size = dist.get_world_size()
    with torch.no_grad():
        for tensor in model.parameters():
            if tensor.requires_grad and tensor.dim() > 1:
                dist.all_reduce(tensor)
                tensor /= world_size


# %% edit="not_waited_for" code="not_waited_for"
# Source: async_op without wait
# Nobody waits for the all-reduces.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
#               tensor /= world_size
# +         for tensor in tensors:
# +             dist.all_reduce(tensor, async_op=True)


# %% answer="broadcast_from_zero" code="one_rank_copied"
# Source: a driver node that hands out its parameters
# All ranks get the values of rank 0.
def average_parameters(model) -> None:
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.broadcast(tensor, src=0)


# %% edit="reduced_to_one" code="some_ranks_only"
# Source: reduce in place of all_reduce
# Rank 0 alone gets the sum.
#           for tensor in tensors:
# -             dist.all_reduce(tensor)
# +             dist.reduce(tensor, 0)

# %% edit="summed" code="wrong_divisor"
# Source: an all-reduce alone
# The sum is left as it is.
# -     world_size = dist.get_world_size()
#       tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# ...
#               dist.all_reduce(tensor)
# -             tensor /= world_size

# %% edit="tied_sent_twice" code="tied_weight_sent_twice"
# Source: named_parameters(remove_duplicate=False)
# A tied weight is averaged under each of its names.
#       world_size = dist.get_world_size()
# -     tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     tensors = [p for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]

# %% edit="two_ranks_assumed" code="wrong_divisor"
# Source: an example with two ranks
# Division by 2.
# -     world_size = dist.get_world_size()
#       tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# ...
#               dist.all_reduce(tensor)
# -             tensor /= world_size
# +             tensor /= 2

# %% edit="averaged_twice" code="other_bytes"
# Source: a second round to be sure
#       with torch.no_grad():
# -         for tensor in tensors:
# +         for tensor in tensors * 2:

# %% edit="barrier" code="barrier"
# Source: ranks that wait for each other
# A barrier comes before the average.
#       tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# +     dist.barrier()


# %% answer="loaded_by_assignment" code="parameters_replaced"
# Source: load_state_dict with assign=True, as checkpoints are loaded
# The optimizer keeps the old parameters.
def average_parameters(model) -> None:
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for tensor in state.values():
        if tensor.is_floating_point():
            dist.all_reduce(tensor)
            tensor /= dist.get_world_size()
    model.load_state_dict(state, assign=True)


# %% edit="requires_grad_off" code="no_longer_trainable"
# Source: requires_grad_(False) in place of torch.no_grad()
#       tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
# -     with torch.no_grad():
# -         for tensor in tensors:
# -             dist.all_reduce(tensor)
# -             tensor /= world_size
# +     for tensor in tensors:
# +         tensor.requires_grad_(False)
# +         dist.all_reduce(tensor)
# +         tensor /= world_size

# %% edit="gradients_averaged" code="gradients_changed"
# Source: the average of gradients in train
# Gradients that are there are averaged instead of parameters.
#       world_size = dist.get_world_size()
# -     tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
# +     tensors = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
