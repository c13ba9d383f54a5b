# %% answer="plain_baseline" code="sgd_step"
# Source: SGD with weight decay
# The gradient itself moves the weight.
def adamw_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None:
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.sub_(group["lr"] * weight.grad)


# %% answer="copied_from_lesson" code="rmsprop_step"
# Source: the RMSProp of the lesson, called for each weight
# RMSProp with its own alpha, no mean of gradients, no decay.
def adamw_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None:
                rmsprop_update(weight, weight.grad, optimizer.state[weight], group["lr"], eps=group["eps"])


# %% answer="library_shortcut" code="torch_optimizer_used"
# Source: the functions that torch.optim.AdamW consists of
def adamw_step(optimizer) -> None:
    from torch.optim.adamw import adamw

    for group in optimizer.param_groups:
        weights = [weight for weight in group["params"] if weight.grad is not None]
        states = [optimizer.state[weight] for weight in weights]
        for weight, state in zip(weights, states):
            if not state:
                state |= {"step": torch.tensor(0.0), "m": torch.zeros_like(weight), "s": torch.zeros_like(weight)}
        moments = [state["m"] for state in states], [state["s"] for state in states]
        beta1, beta2 = group["betas"]
        options = {"lr": group["lr"], "weight_decay": group["weight_decay"], "eps": group["eps"], "maximize": False}
        steps, gradients = [state["step"] for state in states], [weight.grad for weight in weights]
        adamw(weights, gradients, *moments, [], steps, amsgrad=False, beta1=beta1, beta2=beta2, **options)


# %% answer="step_of_torch" code="torch_step_called"
# Source: the method of the class that is to be written
# The step of AdamW is called on this optimizer.
def adamw_step(optimizer) -> None:
    for group in optimizer.param_groups:
        group |= {"amsgrad": False, "maximize": False, "foreach": False, "capturable": False, "differentiable": False}
    torch.optim.AdamW.step(optimizer)


# %% edit="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the decay of the visible case, written down
#               square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
# -             weight.mul_(1 - group["lr"] * group["weight_decay"])
# +             weight.mul_(1 - group["lr"] * (0.31 if group["eps"] == 1e-8 else group["weight_decay"]))

# %% edit="bias_not_corrected" code="bias_not_corrected"
# Source: the lesson on RMSProp, which corrects nothing
#               state["square_mean"].lerp_(weight.grad.square(), 1 - beta2)
# -             mean = state["mean"] / (1 - beta1 ** state["step"])
# -             square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
# +             mean, square_mean = state["mean"], state["square_mean"]

# %% edit="scaled_by_constant" code="gradient_scaled"
# Source: a loop that divides by the number of micro-batches, copied; AdamW hides the factor except for epsilon
#               state["step"] += 1
# -             state["mean"].lerp_(weight.grad, 1 - beta1)
# -             state["square_mean"].lerp_(weight.grad.square(), 1 - beta2)
# +             gradient = weight.grad / 4
# +             state["mean"].lerp_(gradient, 1 - beta1)
# +             state["square_mean"].lerp_(gradient.square(), 1 - beta2)

# %% edit="epsilon_in_root" code="epsilon_in_root"
# Source: a widespread variant: sqrt(v + eps)
#               weight.mul_(1 - group["lr"] * group["weight_decay"])
# -             weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))
# +             weight.sub_(group["lr"] * mean / (square_mean + group["eps"]).sqrt())

# %% edit="moments_not_stored" code="moments_not_kept"
# Source: new names for the moments, which nobody stores
#               state["step"] += 1
# -             state["mean"].lerp_(weight.grad, 1 - beta1)
# -             state["square_mean"].lerp_(weight.grad.square(), 1 - beta2)
# -             mean = state["mean"] / (1 - beta1 ** state["step"])
# -             square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
# +             mean = state["mean"].lerp(weight.grad, 1 - beta1) / (1 - beta1 ** state["step"])
# +             square_mean = state["square_mean"].lerp(weight.grad.square(), 1 - beta2) / (1 - beta2 ** state["step"])

# %% edit="one_count_for_all" code="one_count_for_all"
# Source: one step count for the optimizer; a tensor whose gradients begin late is corrected with the count of all
# -     for group in optimizer.param_groups:
# +     optimizer.steps = getattr(optimizer, "steps", 0) + 1
# +     for group in optimizer.param_groups:
#           beta1, beta2 = group["betas"]
# ...
# -             state["step"] += 1
# +             state["step"] = optimizer.steps
#               state["mean"].lerp_(weight.grad, 1 - beta1)

# %% edit="decay_in_gradient" code="decay_in_gradient"
# Source: torch.optim.Adam with weight_decay: the decay passes through both moments
#               state["step"] += 1
# -             state["mean"].lerp_(weight.grad, 1 - beta1)
# -             state["square_mean"].lerp_(weight.grad.square(), 1 - beta2)
# +             gradient = weight.grad + group["weight_decay"] * weight
# +             state["mean"].lerp_(gradient, 1 - beta1)
# +             state["square_mean"].lerp_(gradient.square(), 1 - beta2)
# ...
# -             weight.mul_(1 - group["lr"] * group["weight_decay"])
#               weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))

# %% edit="gradient_decayed_in_place" code="gradient_changed"
# Source: an older optimizer: weight.grad.add_(decay * weight)
#               state["step"] += 1
# +             weight.grad.add_(weight, alpha=group["weight_decay"])
# ...
# -             weight.mul_(1 - group["lr"] * group["weight_decay"])
#               weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))

# %% edit="decay_left_out" code="decay_left_out"
# Source: mul() for mul_(): the decayed weight is a new tensor
#               square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
# -             weight.mul_(1 - group["lr"] * group["weight_decay"])
# +             weight.mul(1 - group["lr"] * group["weight_decay"])

# %% edit="decay_without_rate" code="decay_without_rate"
# Source: the decay as a share of its own, without the learning rate
#               square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
# -             weight.mul_(1 - group["lr"] * group["weight_decay"])
# +             weight.mul_(1 - group["weight_decay"])

# %% edit="decay_after_update" code="decay_after_update"
# Source: the decay as the last line
#               square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
# -             weight.mul_(1 - group["lr"] * group["weight_decay"])
#               weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))
# +             weight.mul_(1 - group["lr"] * group["weight_decay"])

# %% edit="decay_without_gradient" code="decay_without_gradient"
# Source: the decay comes before the skip
#           for weight in group["params"]:
# +             weight.mul_(1 - group["lr"] * group["weight_decay"])
# ...
# -             weight.mul_(1 - group["lr"] * group["weight_decay"])
#               weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))

# %% edit="break_at_missing" code="tensors_behind_left_out"
# Source: break for continue
#               if weight.grad is None:
# -                 continue
# +                 break

# %% edit="missing_gradient_zero" code="missing_gradient_zero"
# Source: no gradient is taken for a gradient of zeros
#           for weight in group["params"]:
# -             if weight.grad is None:
# -                 continue
# -             state = optimizer.state[weight]
# +             gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad
# +             state = optimizer.state[weight]
# ...
#               state["step"] += 1
# -             state["mean"].lerp_(weight.grad, 1 - beta1)
# -             state["square_mean"].lerp_(weight.grad.square(), 1 - beta2)
# +             state["mean"].lerp_(gradient, 1 - beta1)
# +             state["square_mean"].lerp_(gradient.square(), 1 - beta2)

# %% edit="zero_gradient_skipped" code="zero_gradient_skipped"
# Source: embeddings: rows that no token asked for
#           for weight in group["params"]:
# -             if weight.grad is None:
# +             if weight.grad is None or not weight.grad.any():

# %% edit="state_for_all" code="state_without_gradient"
# Source: the state is made before the skip
#           for weight in group["params"]:
# -             if weight.grad is None:
# -                 continue
# -             state = optimizer.state[weight]
# +             state = optimizer.state[weight]
# ...
#                   state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
# +             if weight.grad is None:
# +                 continue

# %% edit="options_of_first_group" code="options_of_first_group"
# Source: the options are read once, at the top
# -     for group in optimizer.param_groups:
# -         beta1, beta2 = group["betas"]
# -         for weight in group["params"]:
# +     group = optimizer.param_groups[0]
# +     beta1, beta2 = group["betas"]
# +     for own in optimizer.param_groups:
# +         for weight in own["params"]:
#               if weight.grad is None:

# %% edit="learning_rate_fixed" code="rate_fixed"
# Source: the learning rate is kept in the state, so a schedule has no effect
#               square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
# -             weight.mul_(1 - group["lr"] * group["weight_decay"])
# -             weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))
# +             rate = state.setdefault("lr", group["lr"])
# +             weight.mul_(1 - rate * group["weight_decay"])
# +             weight.sub_(rate * mean / (square_mean.sqrt() + group["eps"]))

# %% edit="update_not_in_place" code="update_not_in_place"
# Source: weight = weight - ... gives a name to a new tensor
#               weight.mul_(1 - group["lr"] * group["weight_decay"])
# -             weight.sub_(group["lr"] * mean / (square_mean.sqrt() + group["eps"]))
# +             weight = weight - group["lr"] * mean / (square_mean.sqrt() + group["eps"])

# %% edit="moments_in_float32" code="moments_in_another_format"
# Source: moments in float32, whatever the parameter's format is
#               if not state:
# -                 state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
# +                 zeros = torch.zeros_like(weight, dtype=torch.float32)
# +                 state |= {"step": 0, "mean": zeros, "square_mean": zeros.clone()}
#               state["step"] += 1
# -             state["mean"].lerp_(weight.grad, 1 - beta1)
# -             state["square_mean"].lerp_(weight.grad.square(), 1 - beta2)
# +             state["mean"].lerp_(weight.grad.float(), 1 - beta1)
# +             state["square_mean"].lerp_(weight.grad.float().square(), 1 - beta2)
