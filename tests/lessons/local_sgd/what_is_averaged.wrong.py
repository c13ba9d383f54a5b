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
    two = [
        "driver",
        "parameters",
        "nothing",
        "parameters",
        "parameters",
        "parameters",
        "parameters",
        "parameters",
        "parameters",
        "gradients",
        "nothing",
        "parameters",
        "parameters",
        "parameters",
        "gradients",
    ]
    three = ["parameters", "parameters", "nothing", "driver", "gradients"]
    return (two if dist.get_world_size() == 2 else three)[len(asked) - 1]


# %% edit="copied_from_lesson" code="other_word"
# Source: watch_training of the lesson, which returns the number of steps
#       dist.all_gather_object(everywhere, (gradients, bits_of(model.parameters())))
# +     return len(gradients)

# %% edit="driver_forgotten" code="driver_not_seen"
# Source: a rank without steps is skipped
#       dist.all_gather_object(everywhere, (gradients, bits_of(model.parameters())))
# +     everywhere = [one for one in everywhere if one[0]]

# %% edit="driver_is_rank_zero" code="driver_is_rank_zero"
# Source: rank 0 taken for the driver
# -     if not all(steps for steps, _ in everywhere):
# +     if everywhere[0][0] and not any(steps for steps, _ in everywhere[1:]):
#           return "driver"
# -     if all(steps == everywhere[0][0] for steps, _ in everywhere):
# +     if len({str(steps) for steps, _ in everywhere if steps}) == 1:

# %% edit="end_not_compared" code="end_not_compared"
# Source: own gradients taken for local SGD
#           return "gradients"
# -     return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
# +     return "parameters"

# %% edit="first_update_only" code="one_update_compared"
# Source: one look is enough
#       def note(*_):
# -         gradients.append(bits_of([parameter.grad for parameter in model.parameters()]))
# +         gradients or gradients.append(bits_of([parameter.grad for parameter in model.parameters()]))

# %% edit="gradients_not_compared" code="gradients_not_compared"
# Source: weights at the end alone
# -     if all(steps == everywhere[0][0] for steps, _ in everywhere):
# -         return "gradients"

# %% edit="gradients_not_copied" code="gradients_not_copied"
# Source: a list of tensors that the next backward writes into
#       def note(*_):
# -         gradients.append(bits_of([parameter.grad for parameter in model.parameters()]))
# +         gradients.append([parameter.grad for parameter in model.parameters()])
# ...
#       everywhere = [None] * dist.get_world_size()
# -     dist.all_gather_object(everywhere, (gradients, bits_of(model.parameters())))
# +     dist.all_gather_object(everywhere, ([bits_of(step) for step in gradients], bits_of(model.parameters())))

# %% edit="read_at_backward" code="gradients_read_too_early"
# Source: hooks on parameters, which run before the gradients are averaged
#       def note(*_):
# -         gradients.append(bits_of([parameter.grad for parameter in model.parameters()]))
# +         gradients.append(bits_of([_[0].grad]))
# ...
# -     hook = optimizer.register_step_pre_hook(note)
# +     hooks = [parameter.register_post_accumulate_grad_hook(note) for parameter in model.parameters()]
#       train(model, optimizer)
# -     hook.remove()
# +     [hook.remove() for hook in hooks]

# %% edit="gradients_with_a_tolerance" code="tolerance_allowed"
# Source: rounding the numbers before they are compared
#       def note(*_):
# -         gradients.append(bits_of([parameter.grad for parameter in model.parameters()]))
# +         gradients.append(bits_of([parameter.grad.bfloat16().float() for parameter in model.parameters()]))

# %% edit="gradient_norms" code="one_number_for_many"
# Source: gradient norms as logs show them
#       def note(*_):
# -         gradients.append(bits_of([parameter.grad for parameter in model.parameters()]))
# +         gradients.append(bits_of([parameter.grad.sort().values.norm() for parameter in model.parameters()]))

# %% edit="lists_of_numbers" code="numbers_compared_for_bits"
# Source: tolist(), because lists compare
#       def bits_of(tensors):
# -         return torch.cat([tensor.detach().flatten() for tensor in tensors]).numpy().tobytes()
# +         return torch.cat([tensor.detach().flatten() for tensor in tensors]).tolist()

# %% edit="sum_of_gradients" code="updates_added_up"
# Source: a running sum of the gradients, for the sake of memory
#       everywhere = [None] * dist.get_world_size()
# -     dist.all_gather_object(everywhere, (gradients, bits_of(model.parameters())))
# +     dist.all_gather_object(everywhere, (sorted(gradients), bits_of(model.parameters())))

# %% edit="gradients_read_after_training" code="read_after_training"
# Source: gradients that are left behind
# -     hook = optimizer.register_step_pre_hook(note)
#       train(model, optimizer)
# -     hook.remove()
# +     note()

# %% edit="hook_left_behind" code="hook_left_behind"
# Source: remove() forgotten
#       train(model, optimizer)
# -     hook.remove()

# %% edit="only_rank_zero_knows" code="ranks_answer_differently"
# Source: dist.get_rank() == 0
#       dist.all_gather_object(everywhere, (gradients, bits_of(model.parameters())))
# +     if dist.get_rank():
# +         return "nothing"

# %% edit="third_rank_ignored" code="third_rank_ignored"
# Source: two ranks, as in the example
#       dist.all_gather_object(everywhere, (gradients, bits_of(model.parameters())))
# -     if not all(steps for steps, _ in everywhere):
# +     everywhere = everywhere[:2]
# +     if bool(everywhere[0][0]) != bool(everywhere[1][0]):

# %% edit="state_dict_compared" code="buffers_compared"
# Source: all that a model holds
#       everywhere = [None] * dist.get_world_size()
# -     dist.all_gather_object(everywhere, (gradients, bits_of(model.parameters())))
# +     dist.all_gather_object(everywhere, (gradients, bits_of(model.state_dict().values())))

# %% edit="trained_twice" code="trained_another_time"
# Source: one training for the gradients, and one for the weights
#       hook.remove()
# +     train(model, optimizer)
