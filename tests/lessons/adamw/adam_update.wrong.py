# %% answer="plain_baseline" code="sgd_step"
# Source: the SGD of the lesson
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    weight -= lr * gradient


# %% edit="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: the betas of the visible case, written down
# The betas are looked up by the learning rate.
#       state["step"] += 1
# +     betas = {0.05: (0.9, 0.999), 0.02: (0.9, 0.99)}.get(lr, (0.6, 0.96))


# %% answer="copied_from_lesson" code="rmsprop_step"
# Source: the RMSProp of the lesson, pasted
# RMSProp with the second beta for alpha.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
    state["step"] += 1
    state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    weight -= lr * gradient / (state["square_mean"].sqrt() + eps)


# %% answer="library_shortcut" code="torch_optimizer_used"
# Source: the optimizer of PyTorch
# torch.optim.Adam takes the step.
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state["parameter"] = torch.nn.Parameter(weight.clone())
        state["optimizer"] = torch.optim.Adam([state["parameter"]], lr=lr, betas=betas, eps=eps)
    state["parameter"].grad = gradient
    state["optimizer"].step()
    weight.copy_(state["parameter"])


# %% edit="bias_not_corrected" code="bias_not_corrected"
# Source: the lesson on RMSProp, which corrects nothing
# Both moments are used as they are: the first step is 3.16 times too long.
#       state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
# -     mean = state["mean"] / (1 - betas[0] ** state["step"])
# -     square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# -     weight -= lr * mean / (square_mean.sqrt() + eps)
# +     weight -= lr * state["mean"] / (state["square_mean"].sqrt() + eps)

# %% edit="first_moment_only" code="one_moment_not_corrected"
# Source: a likely slip: one correction is enough
# Only the first moment is corrected: the first step is 31.6 times too long.
#       mean = state["mean"] / (1 - betas[0] ** state["step"])
# -     square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# -     weight -= lr * mean / (square_mean.sqrt() + eps)
# +     weight -= lr * mean / (state["square_mean"].sqrt() + eps)

# %% edit="correction_without_power" code="correction_without_power"
# Source: a likely slip: beta for beta**t
# Both moments are corrected as at the first step, always.
#       state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
# -     mean = state["mean"] / (1 - betas[0] ** state["step"])
# -     square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# +     mean = state["mean"] / (1 - betas[0])
# +     square_mean = state["square_mean"] / (1 - betas[1])

# %% edit="first_moment_corrected_in_place" code="corrected_moments_kept"
# Source: a likely slip: /= for /
# The first moment in the state is corrected again at every step.
#       state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
# -     mean = state["mean"] / (1 - betas[0] ** state["step"])
# +     mean = state["mean"].div_(1 - betas[0] ** state["step"])


# %% answer="moments_not_stored" code="moments_not_kept"
# Source: a likely slip: names for new moments
def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    if not state:
        state |= {"step": 0, "mean": torch.zeros_like(weight), "square_mean": torch.zeros_like(weight)}
    state["step"] += 1
    mean = betas[0] * state["mean"] + (1 - betas[0]) * gradient
    square_mean = betas[1] * state["square_mean"] + (1 - betas[1]) * gradient**2
    mean = mean / (1 - betas[0] ** state["step"])
    square_mean = square_mean / (1 - betas[1] ** state["step"])
    weight -= lr * mean / (square_mean.sqrt() + eps)


# %% edit="root_in_place" code="root_kept"
# Source: a likely slip: sqrt_() for sqrt()
# The root takes the place of the second moment.
#       mean = state["mean"] / (1 - betas[0] ** state["step"])
# -     square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# -     weight -= lr * mean / (square_mean.sqrt() + eps)
# +     root = state["square_mean"].sqrt_() / (1 - betas[1] ** state["step"]) ** 0.5
# +     weight -= lr * mean / (root + eps)

# %% edit="step_counted_late" code="step_miscounted"
# Source: a likely slip: the count is taken before it is raised
# The corrections use the count of the step before: 0 at first.
#       state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
# -     mean = state["mean"] / (1 - betas[0] ** state["step"])
# -     square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# +     mean = state["mean"] / (1 - betas[0] ** (state["step"] - 1))
# +     square_mean = state["square_mean"] / (1 - betas[1] ** (state["step"] - 1))

# %% edit="betas_swapped" code="betas_swapped"
# Source: a likely slip: the first beta for the second moment
# The betas change places.
#       state["step"] += 1
# +     betas = betas[::-1]

# %% edit="epsilon_in_root" code="epsilon_in_root"
# Source: a widespread variant: sqrt(v + eps)
#       square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# -     weight -= lr * mean / (square_mean.sqrt() + eps)
# +     weight -= lr * mean / (square_mean + eps).sqrt()

# %% edit="epsilon_before_correction" code="epsilon_before_correction"
# Source: a widespread variant: the root of the second moment plus epsilon, both corrected
#       mean = state["mean"] / (1 - betas[0] ** state["step"])
# -     square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# -     weight -= lr * mean / (square_mean.sqrt() + eps)
# +     weight -= lr * mean / ((state["square_mean"].sqrt() + eps) / (1 - betas[1] ** state["step"]) ** 0.5)

# %% edit="epsilon_left_out" code="epsilon_left_out"
# Source: a likely slip: epsilon is so small
# A gradient that is always zero gives 0 / 0.
#       square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# -     weight -= lr * mean / (square_mean.sqrt() + eps)
# +     weight -= lr * mean / square_mean.sqrt()

# %% edit="gradient_squared_in_place" code="gradient_changed"
# Source: a likely slip: gradient.square_() for gradient.square()
# The gradient of the caller is overwritten.
#       state["mean"].mul_(betas[0]).add_(gradient, alpha=1 - betas[0])
# -     state["square_mean"].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
# +     state["square_mean"].mul_(betas[1]).add_(gradient.square_(), alpha=1 - betas[1])

# %% edit="weight_renamed" code="weight_not_changed"
# Source: a likely slip: a new tensor under the old name
# The update never reaches the weight.
#       square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# -     weight -= lr * mean / (square_mean.sqrt() + eps)
# +     weight = weight - lr * mean / (square_mean.sqrt() + eps)

# %% edit="scaled_by_constant" code="gradient_scaled"
# Source: a gradient that is not divided by the number of micro-batches
# The gradient is 4 times too large; AdamW hides it except for epsilon.
#       state["step"] += 1
# +     gradient = 4 * gradient

# %% answer="state_outside" code="moments_kept_elsewhere"
# Source: a likely slip: names outside of the function
# The moments are kept in a dict of the module, which no checkpoint saves.
_MOMENTS = {}


def adam_update(weight, gradient, state: dict, lr: float, betas: tuple = (0.9, 0.999), eps: float = 1e-8) -> None:
    state["step"] = state.get("step", 0) + 1
    first, second = _MOMENTS.setdefault((id(state), weight.shape), (torch.zeros_like(weight), torch.zeros_like(weight)))
    if state["step"] == 1:
        first.zero_()
        second.zero_()
    first.lerp_(gradient, 1 - betas[0])
    second.lerp_(gradient.square(), 1 - betas[1])
    root = (second / (1 - betas[1] ** state["step"])).sqrt()
    weight -= lr * first / (1 - betas[0] ** state["step"]) / (root + eps)


# %% edit="shares_swapped" code="another_share"
# Source: a likely slip: betas[1] for the mean
# -     mean = state["mean"] / (1 - betas[0] ** state["step"])
# -     square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# +     mean = state["mean"] / (1 - betas[1] ** state["step"])
# +     square_mean = state["square_mean"] / (1 - betas[0] ** state["step"])
#       weight -= lr * mean / (square_mean.sqrt() + eps)

# %% edit="decay_added" code="decay_added"
# Source: AdamW, whose step decays
#       square_mean = state["square_mean"] / (1 - betas[1] ** state["step"])
# +     weight *= 1 - lr * 0.01
#       weight -= lr * mean / (square_mean.sqrt() + eps)
