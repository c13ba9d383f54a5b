# %% answer="plain_baseline" code="nothing_synchronised"
# Source: one process, as before
# Nothing is done: each rank trains alone.
def synchronise_gradients(model) -> None:
    pass


# %% answer="hard_coded" code="weights_of_no_rank" seed=20011
# Source: the seeds of the visible case
# Each rank draws the weights of rank 0 again, from the seed of the visible case.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    torch.manual_seed(world_size - 2)
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            layer.reset_parameters()
    if world_size > 2:
        torch.manual_seed(world_size - 2)
        for index in (0, 2, 4, 6):
            fresh = torch.nn.Linear(model[index].in_features, model[index].out_features)
            model[index].bias.data.copy_(fresh.bias.data)
            if index != 4:
                model[index].weight.data.copy_(fresh.weight.data)

    def average(parameter):
        dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)


# %% answer="copied_from_lesson" code="no_tensor_reduced"
# Source: average_after_backward of the lesson, pasted in
# The loop runs before any gradient is there.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size


# %% answer="library_shortcut" code="ddp_used"
# Source: PyTorch's own wrapper
# DistributedDataParallel is made and thrown away.
def synchronise_gradients(model) -> None:
    DistributedDataParallel(model)


# %% edit="no_broadcast" code="no_broadcast"
# Source: taking equal starts for granted
# Each rank keeps the weights of its own seed.
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)

# %% edit="broadcast_from_last_rank" code="broadcast_from_another_rank"
# Source: another source
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)
# +         dist.broadcast(parameter.detach(), src=world_size - 1)

# %% edit="weights_averaged" code="weights_averaged"
# Source: starting from the mean of all ranks
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)
# +         dist.all_reduce(parameter.detach().div_(world_size))

# %% edit="frozen_not_broadcast" code="frozen_not_broadcast"
# Source: one loop over trained parameters for everything
# Frozen weights stay those of each rank's seed.
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)
#           if parameter.requires_grad:
# +             dist.broadcast(parameter.detach(), src=0)

# %% edit="copy_broadcast" code="copy_broadcast"
# Source: clone, for a tensor without a graph
# The broadcast writes into a copy of the weights.
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)
# +         dist.broadcast(parameter.detach().clone(), src=0)

# %% edit="not_waited_for" code="all_reduce_not_waited_for"
# Source: async_op=True for the overlap, without a wait
# Nobody waits for the all-reduce.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad.div_(world_size), async_op=True)

# %% edit="copy_reduced" code="copy_reduced"
# Source: a quotient, which is a new tensor
# The all-reduce writes into a copy of the gradient.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad / world_size)

# %% edit="divided_by_two" code="divided_by_another_number"
# Source: a run on two ranks
# The sum is divided by 2, whatever the number of ranks.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad)
# +         parameter.grad /= 2

# %% edit="divided_on_rank_zero" code="divided_on_some_ranks"
# Source: rank 0 taken for the one that averages
# The other ranks keep the sum.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad)
# +         if dist.get_rank() == 0:
# +             parameter.grad /= world_size

# %% edit="divided_twice" code="divided_twice"
# Source: dividing before and after the all-reduce
# The mean is divided by the number of ranks once more.
#           dist.all_reduce(parameter.grad.div_(world_size))
# +         parameter.grad /= world_size

# %% edit="summed" code="gradients_summed"
# Source: an all-reduce taken for a mean
# The gradients are added and not divided.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad)

# %% edit="hook_not_registered" code="own_gradient"
# Source: a hook that is defined and never registered
# No gradient is averaged.
#           if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(average)
# +             average

# %% edit="hook_returns" code="hook_returns_a_value"
# Source: torch.Tensor.register_hook, whose hooks return the gradient
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad)
# +         return parameter.grad / world_size


# %% answer="module_hook" code="hook_of_a_module"
# Source: torch.nn.Module.register_full_backward_hook
# The hooks of modules run before the gradients of the first layer are there.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(module, inputs_gradient, outputs_gradient):
        for parameter in module.parameters(recurse=False):
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
    for module in model.modules():
        module.register_full_backward_hook(average)


# %% answer="loop_variable" code="hook_of_another_parameter"
# Source: a closure over a loop variable
# Each hook reduces the parameter that the loop ended with.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:

            def average(_):
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size

            parameter.register_post_accumulate_grad_hook(average)


# %% edit="all_in_each_hook" code="hook_reduces_others"
# Source: the loop after backward, moved into the hook
# Each hook reduces all gradients that are there.
#       world_size = dist.get_world_size()
#
# -     def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +     def average(_):
# +         for parameter in model.parameters():
# +             if parameter.grad is not None:
# +                 dist.all_reduce(parameter.grad.div_(world_size))

# %% edit="biases_without_hook" code="some_gradients_own"
# Source: only matrices in mind
# The gradients of biases stay those of each rank.
#           dist.broadcast(parameter.detach(), src=0)
# -         if parameter.requires_grad:
# +         if parameter.requires_grad and parameter.dim() > 1:

# %% edit="tied_twice" code="tied_gradient_reduced_twice"
# Source: parameters by their names
# A tied weight has two names and gets two hooks.
# -     for parameter in model.parameters():
# +     for _, parameter in model.named_parameters(remove_duplicate=False):
#           dist.broadcast(parameter.detach(), src=0)


# %% answer="frozen_hooked" code="hook_on_a_frozen_parameter"
# Source: a loop over all parameters
# Frozen parameters get a hook as well.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(parameter):
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        parameter.register_post_accumulate_grad_hook(average)


# %% edit="rank_zero_alone" code="rank_waits_alone"
# Source: a condition for what one rank prints
# Only rank 0 calls all_reduce, and waits for the others.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad)
# +         parameter.grad /= world_size
# ...
#           dist.broadcast(parameter.detach(), src=0)
# -         if parameter.requires_grad:
# +         if parameter.requires_grad and dist.get_rank() == 0:
