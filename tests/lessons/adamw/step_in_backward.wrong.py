# %% answer="plain_baseline" code="no_update"
# Source: the usual loop, where step() follows backward
# The optimizer is made, and nobody calls its step.
def step_in_backward(model, make_optimizer) -> None:
    model.optimizer = make_optimizer([parameter for parameter in model.parameters() if parameter.requires_grad])


# %% answer="hard_coded" code="parameters_left_out" seed=20011
# Source: the shapes of the visible case, written down
# Only parameters as wide or high as in the visible case get a hook, and biases of any size.
def step_in_backward(model, make_optimizer) -> None:
    for parameter in model.parameters():
        if parameter.requires_grad and (parameter.dim() == 1 or parameter.shape[0] in SIDES):
            optimizer = make_optimizer([parameter])

            def update(_, optimizer=optimizer):
                optimizer.step()
                optimizer.zero_grad()

            parameter.register_post_accumulate_grad_hook(update)


SIDES = (5, 6)


# %% answer="copied_from_lesson" code="step_outside_backward"
# Source: make_update of the lesson, pasted
# The lesson's own update of another model runs once.
def step_in_backward(model, make_optimizer) -> None:
    job = make_update_of(model, make_optimizer)
    job()


def make_update_of(model, make_optimizer):
    optimizer = make_optimizer([parameter for parameter in model.parameters() if parameter.requires_grad])

    def step():
        optimizer.zero_grad()
        width = next(parameter for parameter in model.parameters() if parameter.dim() > 1).shape[1]
        model(torch.ones(2, width, device=device)).square().mean().backward()
        optimizer.step()

    return step


# %% answer="hook_of_module" code="hook_of_module"
# Source: hooks of modules, which are better known
# Modules are hooked, whose hooks run before the gradients of parameters are there.
def step_in_backward(model, make_optimizer) -> None:
    for module in model.modules():
        own = [parameter for parameter in module.parameters(recurse=False) if parameter.requires_grad]
        if own:
            optimizer = make_optimizer(own)

            def update(_, __, ___, optimizer=optimizer):
                optimizer.step()
                optimizer.zero_grad()

            module.register_full_backward_hook(update)


# %% answer="step_at_the_end" code="gradients_wait"
# Source: a hook on the first layer, whose gradient comes last
def step_in_backward(model, make_optimizer) -> None:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = make_optimizer(trained)
    ready = []

    def update(parameter):
        ready.append(parameter)
        if len(ready) == len(trained):
            ready.clear()
            optimizer.step()
            optimizer.zero_grad()

    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(update)


# %% answer="others_stepped_too" code="weight_needed_later"
# Source: one optimizer for all, without zero_grad
# Each hook steps every parameter whose gradient is there.
def step_in_backward(model, make_optimizer) -> None:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = make_optimizer(trained)
    for parameter in trained:
        parameter.register_post_accumulate_grad_hook(lambda _: optimizer.step())


# %% answer="gradients_listed" code="gradients_kept"
# Source: logging of gradients
# A list keeps each gradient.
def step_in_backward(model, make_optimizer) -> None:
    optimizers = {parameter: make_optimizer([parameter]) for parameter in model.parameters() if parameter.requires_grad}
    gradients = []

    def update(parameter):
        optimizers[parameter].step()
        gradients.append(parameter.grad)
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)


# %% edit="library_shortcut" code="another_optimizer"
# Source: AdamW of PyTorch, whatever make_optimizer makes
#           if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))
# +             parameter.register_post_accumulate_grad_hook(make_hook(torch.optim.AdamW([parameter], foreach=False)))

# %% edit="biases_left_out" code="biases_left_out"
# Source: only matrices are thought of as trained
#       for parameter in model.parameters():
# -         if parameter.requires_grad:
# +         if parameter.requires_grad and parameter.dim() > 1:

# %% edit="hook_before_gradient" code="hook_before_gradient"
# Source: register_hook, the better known hook
#           if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))
# +             parameter.register_hook(lambda _, own=make_hook(make_optimizer([parameter])): own(None))

# %% edit="gradient_set_early" code="gradient_after_hook"
# Source: register_hook, with the gradient put into .grad
#       def make_hook(optimizer):
# -         def update(parameter):
# -             optimizer.step()
# +         def update(gradient):
# +             optimizer.param_groups[0]["params"][0].grad = gradient.clone()
# +             optimizer.step()
# ...
#           if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))
# +             parameter.register_hook(make_hook(make_optimizer([parameter])))

# %% edit="hook_called" code="hook_not_a_function"
# Source: brackets behind the hook: the result of a call is registered, which is None
#           if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))
# +             parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter]))(parameter))

# %% edit="hook_with_two_parameters" code="hook_with_other_parameters"
# Source: hooks of modules, which take more
#       def make_hook(optimizer):
# -         def update(parameter):
# +         def update(parameter, gradient):

# %% edit="hook_returns" code="hook_returns"
# Source: a lambda with both calls in a tuple
#           if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))
# +             own = make_optimizer([parameter])
# +             parameter.register_post_accumulate_grad_hook(lambda _, own=own: (own.step(), own.zero_grad()))

# %% edit="name_of_the_loop" code="last_optimizer_for_all"
# Source: a late-binding closure in a loop
#           if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))
# +             optimizer = make_optimizer([parameter])
# +             parameter.register_post_accumulate_grad_hook(lambda parameter: make_hook(optimizer)(parameter))

# %% edit="gradient_not_freed" code="gradient_not_freed"
# Source: step() without zero_grad()
#               optimizer.step()
# -             optimizer.zero_grad()

# %% edit="zero_kept" code="zeros_left"
# Source: zero_grad(set_to_none=False)
#               optimizer.step()
# -             optimizer.zero_grad()
# +             optimizer.zero_grad(set_to_none=False)

# %% edit="zeroed_first" code="update_of_nothing"
# Source: the two lines in the other order
#           def update(parameter):
# -             optimizer.step()
#               optimizer.zero_grad()
# +             optimizer.step()

# %% edit="optimizer_made_in_hook" code="optimizer_made_in_hook"
# Source: the optimizer is made where it is used, and forgets its momentum
#           if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))
# +             parameter.register_post_accumulate_grad_hook(lambda own: make_hook(make_optimizer([own]))(own))

# %% edit="scaled_by_constant" code="gradient_scaled"
# Source: a gradient that is multiplied by the number of micro-batches
#           def update(parameter):
# +             parameter.grad *= 4
#               optimizer.step()

# %% edit="stepped_twice" code="stepped_twice"
# Source: a hook that is registered twice, put into one
#           def update(parameter):
# +             optimizer.step()
#               optimizer.step()

# %% edit="copies_kept" code="peak_with_other_tensors"
# Source: a hook that keeps a history of the weights
#           def update(parameter):
# +             optimizer.history = parameter.detach().clone()
#               optimizer.step()

# %% edit="tied_weight_twice" code="optimizer_made_twice"
# Source: a walk over modules, which meets a shared matrix twice
# -     for parameter in model.parameters():
# -         if parameter.requires_grad:
# -             parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))
# +     for module in model.modules():
# +         for parameter in module.parameters(recurse=False):
# +             if parameter.requires_grad:
# +                 parameter.register_post_accumulate_grad_hook(make_hook(make_optimizer([parameter])))

# %% edit="own_rule" code="optimizers_not_used"
# Source: plain SGD, whatever make_optimizer makes
#           def update(parameter):
# -             optimizer.step()
# +             parameter.data -= 1e-3 * parameter.grad
#               optimizer.zero_grad()
