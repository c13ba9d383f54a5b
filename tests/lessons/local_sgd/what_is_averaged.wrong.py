# %% answer="plain_baseline" code="same_for_all"
# Source: a guess
# The answer is always gradients.
def what_is_averaged(train, model, optimizer) -> str:
    train(model, optimizer)
    return "gradients"


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the order of the visible case
def what_is_averaged(train, model, optimizer) -> str:
    train(model, optimizer)
    asked = what_is_averaged.__dict__.setdefault("asked", [])
    asked.append(0)
    two = ["parameters"] * 4 + ["nothing", "driver", "nothing"] + ["parameters"] * 3 + ["gradients"]
    three = ["driver", "gradients", "nothing", "parameters", "parameters"]
    return (two if dist.get_world_size() == 2 else three)[len(asked) - 1]


# %% answer="copied_from_lesson" code="other_word"
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


# %% answer="driver_forgotten" code="driver_not_seen"
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


# %% answer="driver_is_rank_zero" code="driver_is_rank_zero"
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


# %% edit="end_not_compared" code="end_not_compared"
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


# %% answer="first_update_only" code="one_update_compared"
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


# %% answer="gradients_not_compared" code="gradients_not_compared"
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


# %% edit="gradients_not_copied" code="gradients_not_copied"
# Source: a list of tensors that the next backward writes into
# Gradients are kept without a copy.
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients.append([parameter.grad for parameter in model.parameters()])
# ...
#       everywhere = [None] * dist.get_world_size()
# -     dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
# +     dist.all_gather_object(everywhere, ([[one.tolist() for one in step] for step in gradients], weights.tolist()))


# %% answer="read_at_backward" code="gradients_read_too_early"
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


# %% edit="gradients_with_a_tolerance" code="tolerance_allowed"
# Source: allclose as the habit of tests
#           return "driver"
# -     if all(steps == everywhere[0][0] for steps, _ in everywhere):
# +     if all(torch.allclose(torch.tensor(steps), torch.tensor(everywhere[0][0]), atol=1e-4) for steps, _ in everywhere):

# %% edit="gradient_norms" code="one_number_for_many"
# Source: gradient norms as logs show them
# Only the length of each gradient is compared.
#       def note(*_):
# -         gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
# +         gradients.append(torch.stack([parameter.grad.norm() for parameter in model.parameters()]))


# %% answer="gradients_read_after_training" code="read_after_training"
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


# %% answer="hook_left_behind" code="hook_left_behind"
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


# %% answer="only_rank_zero_knows" code="ranks_answer_differently"
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


# %% edit="third_rank_ignored" code="third_rank_ignored"
# Source: two ranks, as in the example
# Only ranks 0 and 1 are compared.
#       dist.all_gather_object(everywhere, ([one.tolist() for one in gradients], weights.tolist()))
# -     if not all(steps for steps, _ in everywhere):
# +     everywhere = everywhere[:2]
# +     if bool(everywhere[0][0]) != bool(everywhere[1][0]):

# %% edit="state_dict_compared" code="buffers_compared"
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
