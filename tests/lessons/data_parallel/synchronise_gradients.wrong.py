# %% answer="plain_baseline" code="nothing_synchronised"
# Source: one process, as before
# Nothing is done: each rank trains alone.
def synchronise_gradients(model) -> None:
    pass


# %% answer="hard_coded" code="weights_of_no_rank" seed=20011
# Source: the seeds of the visible case
# Each rank draws the weights of rank 0 anew, from the seed of the visible case.
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


# %% edit="not_waited_for" code="all_reduce_not_waited_for"
# Source: async_op=True for the overlap, without a wait
# Nobody waits for the all-reduce.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad.div_(world_size), async_op=True)

# %% edit="broadcast_from_last_rank" code="broadcast_from_another_rank"
# Source: another source
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)
# +         dist.broadcast(parameter.detach(), src=world_size - 1)

# %% edit="broadcast_in_forward" code="broadcast_in_forward"
# Source: the first forward of DDP, thought to send the weights
# The weights are broadcast before each forward, and not when the function is called.
#           dist.all_reduce(parameter.grad.div_(world_size))
# +     def spread(module, arguments):
# +         for parameter in module.parameters():
# +             dist.broadcast(parameter.detach(), src=0)
# +     model.register_forward_pre_hook(spread)
#
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)

# %% edit="copy_broadcast" code="copy_broadcast"
# Source: clone, for a tensor without a graph
# The broadcast writes into a copy of the weights.
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)
# +         dist.broadcast(parameter.detach().clone(), src=0)

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

# %% edit="divided_not_reduced" code="divided_not_reduced"
# Source: forgetting the call that talks
# Each rank divides its own gradient.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         parameter.grad.div_(world_size)

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

# %% edit="frozen_not_broadcast" code="frozen_not_broadcast"
# Source: one loop over trained parameters for everything
# Frozen weights stay those of each rank's seed.
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)
#           if parameter.requires_grad:
# +             dist.broadcast(parameter.detach(), src=0)


# %% answer="frozen_reduced" code="frozen_parameters_reduced"
# Source: one flat tensor of all parameters
# The flat tensor holds zeros for frozen parameters, and they are sent too.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    waiting = []
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]

    def average(parameter):
        waiting.append(parameter)
        if len(waiting) == len(trained):
            gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]
            flat = torch.cat([gradient.flatten() for gradient in gradients]) / world_size
            dist.all_reduce(flat)
            parts = flat.split([gradient.numel() for gradient in gradients])
            for p, part in zip(model.parameters(), parts):
                if p.grad is not None:
                    p.grad.copy_(part.view_as(p))
            waiting.clear()

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(average)


# %% answer="backward_replaced" code="function_replaced"
# Source: a patch of the library
# torch.Tensor.backward is replaced for all models.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
    backward = torch.Tensor.backward

    def backward_and_average(loss, *arguments, **options):
        backward(loss, *arguments, **options)
        for parameter in model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size

    torch.Tensor.backward = backward_and_average


# %% edit="gradient_broadcast" code="gradient_broadcast"
# Source: rank 0 taken for a driver whose gradient counts
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.broadcast(parameter.grad, src=0)

# %% edit="scaled_by_constant" code="gradient_scaled"
# Source: a factor for the number of micro-batches that is not there
# The mean gradient is divided by 8.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad.div_(8 * world_size))

# %% edit="reduced_in_float64" code="gradients_in_64_bits"
# Source: care for rounding
# Twice the bytes: the gradients are reduced in float64.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         wide = parameter.grad.double()
# +         dist.all_reduce(wide)
# +         parameter.grad.copy_(wide / world_size)

# %% edit="summed" code="gradients_summed"
# Source: an all-reduce taken for a mean
# The gradients are added and not divided.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad)

# %% edit="hook_skips_biases" code="hook_leaves_some_out"
# Source: a rule for small tensors, inside of the hook
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         if parameter.ndim < 2:
# +             return
# +         dist.all_reduce(parameter.grad)
# +         parameter.grad /= world_size


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

# %% edit="hook_returns" code="hook_returns_a_value"
# Source: torch.Tensor.register_hook, whose hooks return the gradient
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad)
# +         return parameter.grad / world_size

# %% edit="largest" code="largest_taken"
# Source: dist.ReduceOp.MAX
# The largest number of the ranks is kept.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad, op=dist.ReduceOp.MAX)


# %% answer="hook_of_the_model" code="module_hook_too_early"
# Source: one hook for the whole model
# The backward hook of the model runs before any gradient is there.
def synchronise_gradients(model) -> None:
    world_size = dist.get_world_size()

    def average(module, inputs_gradient, outputs_gradient):
        for parameter in module.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad.div_(world_size))

    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), src=0)
    model.register_full_backward_hook(average)


# %% edit="no_broadcast" code="no_broadcast"
# Source: taking equal starts for granted
# Each rank keeps the weights of its own seed.
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)

# %% edit="gathered" code="other_collectives"
# Source: all_gather and a mean
# Every gradient is gathered from all ranks instead of all-reduced.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         parts = [torch.empty_like(parameter.grad) for _ in range(world_size)]
# +         dist.all_gather(parts, parameter.grad)
# +         parameter.grad.copy_(torch.stack(parts).mean(dim=0))

# %% edit="hook_not_registered" code="own_gradient"
# Source: a hook that is defined and never registered
# No gradient is averaged.
#           if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(average)
# +             average

# %% edit="parameter_added" code="parameters_changed"
# Source: a counter kept as a parameter
# The model gets one more parameter.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad)
# +         parameter.grad /= world_size
# +     model.backwards = torch.nn.Parameter(torch.zeros(1), requires_grad=False)

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

# %% edit="smallest" code="smallest_taken"
# Source: dist.ReduceOp.MIN
# The smallest number of the ranks is kept.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.grad, op=dist.ReduceOp.MIN)

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

# %% edit="weights_averaged" code="weights_averaged"
# Source: starting from the mean of all ranks
#       for parameter in model.parameters():
# -         dist.broadcast(parameter.detach(), src=0)
# +         dist.all_reduce(parameter.detach().div_(world_size))

# %% edit="weights_moved_in_hook" code="weights_changed_in_hook"
# Source: the update in the hook, as in lesson 6
# The hook also moves the weights, and the optimizer moves them again.
#           dist.all_reduce(parameter.grad.div_(world_size))
# +         with torch.no_grad():
# +             parameter -= 0.1 * parameter.grad

# %% edit="weights_reduced" code="weights_reduced"
# Source: parameter.data taken for the gradient
# The hook averages the weights.
#       def average(parameter):
# -         dist.all_reduce(parameter.grad.div_(world_size))
# +         dist.all_reduce(parameter.data)
# +         parameter.data /= world_size
