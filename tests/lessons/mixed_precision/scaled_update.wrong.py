# %% answer="plain_baseline" code="plain_update"
# Source: the update of a float32 loop
# The optimizer steps on whatever is in .grad.
def scaled_update(scaler, optimizer) -> None:
    optimizer.step()


# %% edit="hard_coded" code="overflow_missed" seed=20011
# Source: the skips of the visible case, written down
# A table of skipped updates replaces a look at the gradients.
#       is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
# +     if not hasattr(scaler, "calls"):
# +         scaler.calls = 0
# +         skips = {(2.0**16, 4): (2, 9), (2.0**16, 2): (0, 1, 2, 3, 6, 9, 12, 15), (2.0**9, 1): (5, 6)}
# +         scaler.skips = skips.get((scaler.scale, scaler.growth_interval), (0, 1, 2))
# +     is_finite = scaler.calls not in scaler.skips
# +     scaler.calls += 1


# %% answer="copied_from_lesson" code="static_scale"
# Source: the lesson's worked example of a static scale
# The gradients are divided, and every update steps.
def scaled_update(scaler, optimizer) -> None:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad /= scaler.scale
    optimizer.step()


# %% answer="library_shortcut" code="library_scaler_used"
# Source: PyTorch's own scaler
# GradScaler does what is to be written.
def scaled_update(scaler, optimizer) -> None:
    library = torch.amp.GradScaler(device.type, init_scale=scaler.scale, growth_interval=scaler.growth_interval)
    library.scale(torch.ones((), device=device))
    library.step(optimizer)
    library.update()
    scaler.scale = library.get_scale()


# %% edit="count_not_reset" code="count_not_reset"
# Source: survey of courses, lesson 05: 65,536 for 32,768 at step 4
# The count of good updates goes on through an infinity.
#           scaler.scale /= 2
# -         scaler.good_updates = 0


# %% edit="fixed_divisor" code="fixed_divisor"
# Source: the first scale, written down
# The gradients are divided by 65,536, whatever the scale is.
#           for parameter in parameters:
# -             parameter.grad /= scaler.scale
# +             parameter.grad /= 65536

# %% edit="growth_in_both_places" code="grows_every_time"
# Source: growth written again
# The scale doubles with every good update.
#           optimizer.step()
# -         scaler.good_updates += 1
# +         scaler.scale *= 2

# %% edit="skips_counted" code="infinity_counted"
# Source: a count of all updates
#           optimizer.step()
# -         scaler.good_updates += 1
#       else:
#           scaler.scale /= 2
# -         scaler.good_updates = 0
# +     scaler.good_updates += 1

# %% edit="no_back_off" code="never_falls"
# Source: survey of courses, lesson 05: the scale never falls
# The update is skipped, and the scale stays.
#       else:
# -         scaler.scale /= 2

# %% edit="never_recovers" code="never_recovers"
# Source: a count that nobody raises
# Good updates are not counted, so the scale can only fall.
#           optimizer.step()
# -         scaler.good_updates += 1

# %% edit="no_skip" code="not_skipped"
# Source: survey of courses, lesson 05: NaN weights
# An infinity lowers the scale, and the optimizer steps all the same.
#       is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
# +     for parameter in parameters:
# +         parameter.grad /= scaler.scale
# +     optimizer.step()
#       if is_finite:
# -         for parameter in parameters:
# -             parameter.grad /= scaler.scale
# -         optimizer.step()

# %% edit="not_unscaled" code="not_unscaled"
# Source: scaling the loss without undoing it
# The optimizer is given scaled gradients.
#       if is_finite:
# -         for parameter in parameters:
# -             parameter.grad /= scaler.scale

# %% edit="one_group_only" code="partly_unscaled"
# Source: optimizers with one parameter group
#       if is_finite:
# -         for parameter in parameters:
# +         for parameter in optimizer.param_groups[0]["params"]:


# %% answer="weights_put_back" code="stepped_and_repaired"
# Source: a step that is undone
# The optimizer steps on inf, and the weights are copied back.
def scaled_update(scaler, optimizer) -> None:
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
    kept = [parameter.detach().clone() for parameter in parameters]
    for parameter in parameters:
        parameter.grad /= scaler.scale
    optimizer.step()
    scaler.good_updates += 1
    if not is_finite:
        for parameter, weight in zip(parameters, kept, strict=True):
            parameter.data.copy_(weight)
        scaler.scale /= 2
        scaler.good_updates = 0
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale *= 2
        scaler.good_updates = 0


# %% edit="infinities_set_to_zero" code="stepped_and_repaired"
# Source: nan_to_num as a remedy
# Infinite gradients are set to 0, and the step is made.
#       is_finite = all(bool(parameter.grad.isfinite().all()) for parameter in parameters)
# +     for parameter in parameters:
# +         parameter.grad.div_(scaler.scale).nan_to_num_(0.0, 0.0, 0.0)
# +     optimizer.step()
#       if is_finite:
# -         for parameter in parameters:
# -             parameter.grad /= scaler.scale
# -         optimizer.step()

# %% edit="stepped_twice" code="stepped_twice"
# Source: a step inside the loop over the parameters
#               parameter.grad /= scaler.scale
# -         optimizer.step()
# +             optimizer.step()
