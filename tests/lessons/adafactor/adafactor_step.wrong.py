# %% answer="plain_baseline" code="adam_step"
# Source: lesson 06: AdamW
# AdamW's step.
def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        beta1, beta2 = group["betas"]
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            if not state:
                state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
            state["step"] += 1
            state["mean"].lerp_(weight.grad, 1 - beta1)
            state["square_mean"].lerp_(weight.grad.square(), 1 - beta2)
            mean = state["mean"] / (1 - beta1 ** state["step"])
            square_mean = state["square_mean"] / (1 - beta2 ** state["step"])
            weight.mul_(1 - group["lr"] * group["weight_decay"])
            weight.sub_(group["lr"] * mean / (square_mean.sqrt() + 1e-8))


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the options of the visible seed
def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = optimizer.state[weight]
            first = optimizer.param_groups[0]
            case = 0 if len(optimizer.param_groups) == 1 and not first["scale_parameter"] else 1
            case = 2 if len(optimizer.param_groups) == 2 or first["lr"] < 1e-2 else case
            decays = (0.34, 0.0, group["weight_decay"])
            thresholds, powers = (1.0, 0.6, group["clip_threshold"]), (-0.8, -0.7, group["decay_rate"])
            squares = weight.grad.square() + group["eps"]
            means = [squares.mean(-1, True), squares.mean(-2, True)] if squares.dim() > 1 else [squares]
            if not state:
                state |= {"step": 0, "means": [torch.zeros_like(mean) for mean in means]}
            state["step"] += 1
            beta = 1 - state["step"] ** powers[case]
            for kept, mean in zip(state["means"], means, strict=True):
                kept.mul_(beta).add_(mean, alpha=1 - beta)
            second = state["means"][0]
            if weight.dim() > 1:
                second = second / second.mean(-2, True) * state["means"][1]
            update = weight.grad / second.sqrt()
            update = update / (update.square().mean().sqrt() / thresholds[case]).clamp(min=1.0)
            rate = group["lr"]
            if group["scale_parameter"]:
                rate = rate * max(1e-3, float(weight.square().mean().sqrt()))
            weight.mul_(1 - rate * decays[case])
            weight.sub_(rate * update)


# %% answer="copied_from_lesson" code="step_of_the_lesson"
# Source: the whole second moment of the lesson, called for each weight
# No factors, no scale, no decay.
def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None:
                second = whole_second_moment(weight.grad, optimizer.state[weight], group["decay_rate"], group["eps"])
                update = weight.grad / second.sqrt()
                update /= max(1.0, update.square().mean().sqrt() / group["clip_threshold"])
                weight.sub_(group["lr"] * update)


# %% answer="library_shortcut" code="torch_optimizer_used"
# Source: a likely shortcut: transformers' Adafactor for each group
# The library's optimizer takes the step.
def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        made = optimizer.__dict__.setdefault("made", {})
        if id(group) not in made:
            options = {
                name: group[name] for name in ("decay_rate", "clip_threshold", "scale_parameter", "weight_decay")
            }
            made[id(group)] = Adafactor(
                group["params"], lr=group["lr"], eps=(group["eps"], 1e-3), relative_step=False, **options
            )
        made[id(group)].param_groups[0]["lr"] = group["lr"]
        made[id(group)].step()


# %% edit="always_scaled" code="always_scaled"
# Source: PyTorch's Adafactor, which always scales
#               update /= (update.square().mean().sqrt() / group["clip_threshold"]).clamp(min=1.0)
# -             scale = weight.square().mean().sqrt().clamp(min=1e-3) if group["scale_parameter"] else 1.0
# +             scale = weight.square().mean().sqrt().clamp(min=1e-3)

# %% edit="no_smallest_scale" code="no_smallest_scale"
# Source: a likely slip
# A weight of zeros never moves.
#               update /= (update.square().mean().sqrt() / group["clip_threshold"]).clamp(min=1.0)
# -             scale = weight.square().mean().sqrt().clamp(min=1e-3) if group["scale_parameter"] else 1.0
# +             scale = weight.square().mean().sqrt() if group["scale_parameter"] else 1.0

# %% edit="not_clipped" code="update_not_clipped"
# Source: Adam's step, which has no clipping
#               update = weight.grad / second.sqrt()
# -             update /= (update.square().mean().sqrt() / group["clip_threshold"]).clamp(min=1.0)

# %% edit="norm_for_rms" code="norm_for_rms"
# Source: clip_grad_norm_, which clips by the norm
#               update = weight.grad / second.sqrt()
# -             update /= (update.square().mean().sqrt() / group["clip_threshold"]).clamp(min=1.0)
# +             update /= (update.norm() / group["clip_threshold"]).clamp(min=1.0)

# %% edit="decay_left_out" code="decay_left_out"
# Source: the cell of the lesson, which has no decay
#               scale = weight.square().mean().sqrt().clamp(min=1e-3) if group["scale_parameter"] else 1.0
# -             weight.mul_(1 - group["lr"] * scale * group["weight_decay"])

# %% edit="decay_with_lr" code="decay_with_unscaled_rate"
# Source: AdamW's decay
# The decay takes lr as it is.
#               scale = weight.square().mean().sqrt().clamp(min=1e-3) if group["scale_parameter"] else 1.0
# -             weight.mul_(1 - group["lr"] * scale * group["weight_decay"])
# +             weight.mul_(1 - group["lr"] * group["weight_decay"])

# %% edit="decay_in_gradient" code="decay_in_gradient"
# Source: L2 regularisation, as in torch.optim.SGD
# The second moment sees the decay.
#           for weight in [parameter for parameter in group["params"] if parameter.grad is not None]:
# -             squares, state = weight.grad.square() + group["eps"], optimizer.state[weight]
# +             gradient = weight.grad + group["weight_decay"] * weight
# +             squares, state = gradient.square() + group["eps"], optimizer.state[weight]
# ...
#               second = kept[0] if len(kept) == 1 else kept[0] / kept[0].mean(-2, True) * kept[1]
# -             update = weight.grad / second.sqrt()
# +             update = gradient / second.sqrt()
# ...
#               scale = weight.square().mean().sqrt().clamp(min=1e-3) if group["scale_parameter"] else 1.0
# -             weight.mul_(1 - group["lr"] * scale * group["weight_decay"])

# %% edit="break_at_missing" code="tensor_not_updated"
# Source: a likely slip: break for continue
# The tensors after one without gradient stay as they are.
#       for group in optimizer.param_groups:
# -         for weight in [parameter for parameter in group["params"] if parameter.grad is not None]:
# +         for weight in group["params"]:
# +             if weight.grad is None:
# +                 break

# %% edit="missing_gradient_zero" code="missing_gradient_zero"
# Source: a likely workaround for .grad is None
#       for group in optimizer.param_groups:
# -         for weight in [parameter for parameter in group["params"] if parameter.grad is not None]:
# +         for weight in group["params"]:
# +             gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad
# -             squares, state = weight.grad.square() + group["eps"], optimizer.state[weight]
# +             squares, state = gradient.square() + group["eps"], optimizer.state[weight]
# ...
#               second = kept[0] if len(kept) == 1 else kept[0] / kept[0].mean(-2, True) * kept[1]
# -             update = weight.grad / second.sqrt()
# +             update = gradient / second.sqrt()

# %% edit="options_of_first_group" code="options_of_first_group"
# Source: optimizers with one group
# All options come from the first group.
#       for group in optimizer.param_groups:
# -         for weight in [parameter for parameter in group["params"] if parameter.grad is not None]:
# +         for weight in [parameter for parameter in group["params"] if parameter.grad is not None]:
# +             group = optimizer.param_groups[0]

# %% edit="learning_rate_fixed" code="options_kept_from_start"
# Source: a likely slip: lr is read when the state is made
# A schedule does not reach it.
#               update /= (update.square().mean().sqrt() / group["clip_threshold"]).clamp(min=1.0)
# -             scale = weight.square().mean().sqrt().clamp(min=1e-3) if group["scale_parameter"] else 1.0
# +             scale = weight.square().mean().sqrt().clamp(min=1e-3) if group["scale_parameter"] else 1.0
# +             lr = state.setdefault("lr", group["lr"])
# -             weight.mul_(1 - group["lr"] * scale * group["weight_decay"])
# +             weight.mul_(1 - lr * scale * group["weight_decay"])
# -             weight.sub_(group["lr"] * scale * update)
# +             weight.sub_(lr * scale * update)

# %% edit="weight_renamed" code="weight_not_changed"
# Source: a likely slip: out of place
# The name moves, and the weight does not.
#               scale = weight.square().mean().sqrt().clamp(min=1e-3) if group["scale_parameter"] else 1.0
# -             weight.mul_(1 - group["lr"] * scale * group["weight_decay"])
# +             weight = weight * (1 - group["lr"] * scale * group["weight_decay"])
# -             weight.sub_(group["lr"] * scale * update)
# +             weight = weight - group["lr"] * scale * update

# %% edit="one_count_for_all" code="one_count_for_all"
# Source: one step count for the whole optimizer
# A tensor whose gradients begin later has the count of the others.
# -     for group in optimizer.param_groups:
# +     for group in optimizer.param_groups:
# +         group["step"] = group.get("step", 0) + 1
# ...
#               means = [squares.mean(-1, True), squares.mean(-2, True)] if squares.dim() > 1 else [squares]
# -             state["step"] = state.get("step", 0) + 1
# +             state["step"] = group["step"]

# %% edit="stack_flattened" code="stack_flattened"
# Source: a convolution as a matrix of output channels
#           for weight in [parameter for parameter in group["params"] if parameter.grad is not None]:
# -             squares, state = weight.grad.square() + group["eps"], optimizer.state[weight]
# +             squares, state = weight.grad.square() + group["eps"], optimizer.state[weight]
# +             squares = squares.flatten(1) if squares.dim() > 2 else squares
# ...
#               second = kept[0] if len(kept) == 1 else kept[0] / kept[0].mean(-2, True) * kept[1]
# -             update = weight.grad / second.sqrt()
# +             update = weight.grad / second.sqrt().reshape(weight.shape)


# %% answer="state_outside" code="means_kept_elsewhere"
# Source: a global dictionary
kept_states = {}


def adafactor_step(optimizer) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                continue
            state = kept_states.setdefault(weight, {})
            squares = weight.grad.square() + group["eps"]
            means = [squares.mean(-1, True), squares.mean(-2, True)] if squares.dim() > 1 else [squares]
            if not state:
                state |= {"step": 0, "means": [torch.zeros_like(mean) for mean in means]}
            state["step"] += 1
            beta = 1 - state["step"] ** group["decay_rate"]
            for kept, mean in zip(state["means"], means, strict=True):
                kept.mul_(beta).add_(mean, alpha=1 - beta)
            second = state["means"][0]
            if weight.dim() > 1:
                second = second / second.mean(-2, True) * state["means"][1]
            update = weight.grad / second.sqrt()
            update = update / (update.square().mean().sqrt() / group["clip_threshold"]).clamp(min=1.0)
            rate = group["lr"]
            if group["scale_parameter"]:
                rate = rate * max(1e-3, float(weight.square().mean().sqrt()))
            weight.mul_(1 - rate * group["weight_decay"])
            weight.sub_(rate * update)


# %% edit="clamp_for_matrices" code="second_epsilon"
# Source: a clamp against division by zero, where the second moment is factored
#               second = kept[0] if len(kept) == 1 else kept[0] / kept[0].mean(-2, True) * kept[1]
# -             update = weight.grad / second.sqrt()
# +             update = weight.grad / (second.clamp(min=1e-12) if len(kept) > 1 else second).sqrt()

# %% edit="mean_of_rows_forgotten" code="not_divided"
# Source: the published slide that multiplies and does not divide
# -             second = kept[0] if len(kept) == 1 else kept[0] / kept[0].mean(-2, True) * kept[1]
# +             second = kept[0] if len(kept) == 1 else kept[0] * kept[1]
#               update = weight.grad / second.sqrt()

# %% edit="sign_turned" code="sign_turned"
# Source: a likely slip: add_ for sub_
#               weight.mul_(1 - group["lr"] * scale * group["weight_decay"])
# -             weight.sub_(group["lr"] * scale * update)
# +             weight.add_(group["lr"] * scale * update)

# %% edit="zero_gradient_skipped" code="zero_gradient_skipped"
# Source: embeddings: rows that no token asked for
#       for group in optimizer.param_groups:
# -         for weight in [parameter for parameter in group["params"] if parameter.grad is not None]:
# +         for weight in [one for one in group["params"] if one.grad is not None and one.grad.any()]:

# %% edit="smaller_for_larger" code="smaller_for_larger"
# Source: a likely slip: min for max
#               update = weight.grad / second.sqrt()
# -             update /= (update.square().mean().sqrt() / group["clip_threshold"]).clamp(min=1.0)
# +             update /= (update.square().mean().sqrt() / group["clip_threshold"]).clamp(max=1.0)
