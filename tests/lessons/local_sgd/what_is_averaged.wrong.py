# %% answer="plain_baseline" code="UNKNOWN"
# Source: a guess
# The answer is always gradients.
def what_is_averaged(train, model, optimizer) -> str:
    train(model, optimizer)
    return "gradients"


# %% answer="hard_coded" code="UNKNOWN" seed=20011
# Source: the order of the visible case
def what_is_averaged(train, model, optimizer) -> str:
    train(model, optimizer)
    asked = what_is_averaged.__dict__.setdefault("asked", [])
    asked.append(0)
    two = ["parameters"] * 4 + ["nothing", "driver", "nothing"] + ["parameters"] * 3 + ["gradients"]
    three = ["driver", "gradients", "nothing", "parameters", "parameters"]
    return (two if dist.get_world_size() == 2 else three)[len(asked) - 1]


# %% answer="copied_from_lesson" code="UNKNOWN"
# Source: watch_training of the lesson
# The number of steps is returned.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    return len(gradients)


# %% answer="driver_forgotten" code="UNKNOWN"
# Source: a rank without steps is skipped
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    everywhere = [one for one in everywhere if one[0]]
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% answer="driver_is_rank_zero" code="UNKNOWN"
# Source: rank 0 is the driver
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if everywhere[0][0] and not any(steps for steps, _ in everywhere[1:]):
        return "driver"
    steps_of_all = [steps for steps, _ in everywhere if steps]
    if all(steps == steps_of_all[0] for steps in steps_of_all):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% answer="driver_taken_for_average" code="UNKNOWN"
# Source: equal weights at the end
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "parameters"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% edit="end_not_compared" code="UNKNOWN"
# Source: own gradients mean local SGD
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())
# ...
#       hook.remove()
# -     weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
# +     weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
#       everywhere = [None] * dist.get_world_size()
# -     dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
# +     dist.all_gather_object(everywhere, (gradients, weights))
# ...
#           return "gradients"
# -     return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
# +     return "parameters"

# %% edit="first_parameter_only" code="UNKNOWN"
# Source: one parameter taken for the model
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients.append(next(model.parameters()).grad.flatten().clone())


# %% answer="first_update_only" code="UNKNOWN"
# Source: one look is enough
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients or gradients.append(
            torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist()
        )

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% edit="gradient_norms" code="UNKNOWN"
# Source: gradient norms as logs show them
# Only the length of each gradient is compared.
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients.append(torch.stack([parameter.grad.norm() for parameter in model.parameters()]))


# %% answer="gradients_cleared_in_the_hook" code="UNKNOWN"
# Source: a hook that clears what it has read
# The list holds the tensors that zero_grad sets to zero.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append([parameter.grad for parameter in model.parameters()])
        model.zero_grad(set_to_none=False)

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    gradients = [[one.tolist() for one in step] for step in gradients]
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% answer="gradients_not_compared" code="UNKNOWN"
# Source: weights at the end
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% edit="gradients_not_copied" code="UNKNOWN"
# Source: a list of tensors that the next backward writes into
# Gradients are kept without a copy.
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients.append([parameter.grad for parameter in model.parameters()])
# ...
#       everywhere = [None] * dist.get_world_size()
# -     dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
# +     dist.all_gather_object(everywhere, ([[one.tolist() for one in step] for step in gradients], weights.tolist()))


# %% answer="gradients_read_after_training" code="UNKNOWN"
# Source: gradients that are left behind
# Gradients are read once, when train has ended.
def what_is_averaged(train, model, optimizer) -> str:
    train(model, optimizer)
    gradients = torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if all(last == everywhere[0][0] for last, _ in everywhere):
        return "gradients"
    return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"


# %% edit="gradients_with_a_tolerance" code="UNKNOWN"
# Source: allclose as the habit of tests
#           return "driver"
# -     if all(steps == everywhere[0][0] for steps, _ in everywhere):
# +     if all(torch.allclose(torch.tensor(steps), torch.tensor(everywhere[0][0]), atol=1e-4) for steps, _ in everywhere):


# %% answer="hook_left_behind" code="UNKNOWN"
# Source: remove() forgotten
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)

    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% edit="last_update_only" code="UNKNOWN"
# Source: the gradients that are left at the end
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients[:] = [torch.cat([parameter.grad.flatten() for parameter in model.parameters()])]

# %% edit="one_update_is_enough" code="UNKNOWN"
# Source: any() in place of all()
#           return "driver"
# -     if all(steps == everywhere[0][0] for steps, _ in everywhere):
# +     if any(all(one == steps[0] for one in steps) for steps in zip(*(steps for steps, _ in everywhere))):


# %% answer="only_rank_zero_knows" code="UNKNOWN"
# Source: dist.get_rank() == 0
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if dist.get_rank():
        return "nothing"
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% answer="other_words" code="UNKNOWN"
# Source: words of its own
# The answer is none of the four words.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "data parallel"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% edit="own_gradients_are_nothing" code="UNKNOWN"
# Source: own gradients mean that nobody talks
# Own gradients are taken for ranks on their own.
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())
# ...
#       hook.remove()
# -     weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
# +     weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
#       everywhere = [None] * dist.get_world_size()
# -     dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
# +     dist.all_gather_object(everywhere, (gradients, weights))
# ...
#           return "gradients"
# -     return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
# +     return "nothing"


# %% answer="read_at_backward" code="UNKNOWN"
# Source: hooks on parameters
# Gradients are read in backward, before they are averaged.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []
    hooks = [
        parameter.register_post_accumulate_grad_hook(lambda one: gradients.append(one.grad.flatten().clone()))
        for parameter in model.parameters()
    ]
    train(model, optimizer)
    for hook in hooks:
        hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"


# %% answer="returned_nothing" code="UNKNOWN"
# Source: print instead of return
# The answer is printed.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    print(everywhere[0][0] == everywhere[-1][0])


# %% edit="state_dict_compared" code="UNKNOWN"
# Source: all that a model holds
# Buffers are compared with the weights.
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())
# ...
#       hook.remove()
# -     weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
# +     weights = torch.cat([one.flatten() for one in model.state_dict().values()]).tolist()
#       everywhere = [None] * dist.get_world_size()
# -     dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
# +     dist.all_gather_object(everywhere, (gradients, weights))
# ...
#           return "gradients"
# -     return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
# +     return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"

# %% edit="step_left_replaced" code="UNKNOWN"
# Source: a method that is replaced and not put back
# optimizer.step stays wrapped.
#       gradients = []
# +     step = optimizer.step
# ...
# -     hook = optimizer.register_step_pre_hook(note)
# +         return step()
# +     optimizer.step = note
#       train(model, optimizer)
# -     hook.remove()


# %% answer="stepped_too" code="UNKNOWN"
# Source: one step to see what it does
# The function takes a step of its own.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    optimizer.step()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% edit="third_rank_ignored" code="UNKNOWN"
# Source: two ranks, as in the example
# Only ranks 0 and 1 are compared.
#       dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
# -     if not all(steps for steps, _ in everywhere):
# +     everywhere = everywhere[:2]
# +     if bool(everywhere[0][0]) != bool(everywhere[1][0]):


# %% answer="trained_a_copy" code="UNKNOWN"
# Source: a model that is to stay as it was
def what_is_averaged(train, model, optimizer) -> str:
    from copy import deepcopy

    gradients = []

    def note(*_):
        gradients.append([None if one.grad is None else one.grad.tolist() for one in model.parameters()])

    hook = optimizer.register_step_pre_hook(note)
    train(deepcopy(model), optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% answer="trained_twice" code="UNKNOWN"
# Source: a first run to warm up
# train is called twice.
def what_is_averaged(train, model, optimizer) -> str:
    gradients = []

    def note(*_):
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).tolist())

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    gradients.clear()
    train(model, optimizer)
    hook.remove()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, weights))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"


# %% edit="weights_compared" code="UNKNOWN"
# Source: equal weights mean data parallel
# Weights before each step are compared, not gradients.
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients.append(torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist())
# ...
#       hook.remove()
# -     weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
# +     weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).tolist()
#       everywhere = [None] * dist.get_world_size()
# -     dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
# +     dist.all_gather_object(everywhere, (gradients, weights))
# ...
#           return "gradients"
# -     return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
# +     return "parameters" if all(last == everywhere[0][1] for _, last in everywhere) else "nothing"

# %% edit="weights_with_a_tolerance" code="UNKNOWN"
# Source: allclose as the habit of tests
#           return "gradients"
# -     return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
# +     return (
# +         "parameters"
# +         if all(torch.allclose(torch.tensor(end), weights, atol=1e-4) for _, end in everywhere)
# +         else "nothing"
# +     )
