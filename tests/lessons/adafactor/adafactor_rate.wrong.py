# %% answer="plain_baseline" code="lr_for_all"
# Source: the learning rate that the user gave
# lr for all.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    return lr


# %% answer="hard_coded" code="visible_case_hard_coded" seed=20011
# Source: answers of the visible seed, in the order of the calls
# The visible cases' rates.
visible_rates = [
    0.0002,
    0.0003,
    0.0003,
    0.0003,
    0.0003,
    0.0002,
    0.03,
    0.02,
    0.02,
    1e-05,
    0.00017999999999999998,
    0.013000000000000001,
    1e-05,
    0.00038,
    0.016,
    5.965818331272484e-06,
    0.00013721382161926713,
    0.009545309330035974,
    1e-09,
    1.1e-08,
    1.1e-06,
    8.3e-08,
    2.407e-06,
    0.0001494,
    7.204319275589665e-06,
    0.00023053821681886928,
    0.008645183130707597,
    2.0000000000000002e-07,
    5.4e-06,
    0.00054,
    2.0000000000000002e-07,
    1.14e-05,
    0.00054,
    3e-05,
    0.00064,
    0.036,
    3e-07,
    5.8e-06,
    0.0005099999999999999,
    2.0000000000000002e-07,
    3e-06,
    0.00041999999999999996,
    7.784753543566857e-06,
    0.0001946188385891714,
    0.009341704252280227,
]


def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    visible_rates.append(visible_rates.pop(0))
    return visible_rates[-1]


# %% answer="copied_from_lesson" code="transformers_for_all"
# Source: the first column of the lesson's table, for all forms
# All forms have transformers' default rate.
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    bounds = dict.fromkeys(("transformers", "warm-up", "torch"), 1e-2)
    rate = min(bounds[form], step**-0.5) if form in bounds else min(1e-2, step**-0.5)
    return rate * max(1e-3, weight_rms)


# %% answer="library_shortcut" code="library_used"
# Source: transformers' own method, for all forms
def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    is_relative, is_scaled = form in ("transformers", "warm-up", "torch"), form != "Trainer"
    group = {"lr": lr, "relative_step": is_relative, "scale_parameter": is_scaled, "warmup_init": form == "warm-up"}
    return Adafactor._get_lr(group | {"eps": (1e-30, 1e-3)}, {"step": step, "RMS": weight_rms})


# %% edit="bound_of_torch_fixed" code="bound_of_torch_fixed"
# Source: PyTorch's default lr
# -     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# +     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": 1e-2}
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr

# %% edit="fall_left_out" code="fall_left_out"
# Source: a likely slip
# The bound alone.
#       bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# -     rate = min(bounds[form], step**-0.5) if form in bounds else lr
# +     rate = bounds[form] if form in bounds else lr

# %% edit="larger_for_smaller" code="larger_for_smaller"
# Source: a likely slip
# max for min.
#       bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# -     rate = min(bounds[form], step**-0.5) if form in bounds else lr
# +     rate = max(bounds[form], step**-0.5) if form in bounds else lr

# %% edit="lr_in_relative_step" code="lr_in_relative_step"
# Source: a likely slip
# transformers' bound is lr.
# -     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# +     bounds = {"transformers": lr, "warm-up": 1e-6 * step, "torch": lr}
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr

# %% edit="no_smallest_scale" code="no_smallest_scale"
# Source: a likely slip
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr
# -     return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
# +     return rate if form == "Trainer" else rate * weight_rms

# %% edit="nothing_relative" code="nothing_relative"
# Source: a likely slip
# No rate falls.
#       bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# -     rate = min(bounds[form], step**-0.5) if form in bounds else lr
# +     rate = lr

# %% edit="nothing_scaled" code="nothing_scaled"
# Source: a likely slip
# No form scales.
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr
# -     return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
# +     return rate

# %% edit="root_of_step_forgotten" code="root_of_step_forgotten"
# Source: a likely slip
#       bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# -     rate = min(bounds[form], step**-0.5) if form in bounds else lr
# +     rate = min(bounds[form], 1 / step) if form in bounds else lr

# %% edit="step_counted_from_zero" code="step_counted_from_zero"
# Source: a likely slip
#       bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# -     rate = min(bounds[form], step**-0.5) if form in bounds else lr
# +     rate = min(bounds[form], (step + 1) ** -0.5) if form in bounds else lr

# %% edit="torch_like_trainer" code="torch_like_trainer"
# Source: one name, two libraries
# PyTorch takes lr as it is.
# -     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# +     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step}
# ...
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr
# -     return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
# +     return rate if form in ("Trainer", "torch") else rate * max(1e-3, weight_rms)

# %% edit="torch_not_relative" code="torch_not_relative"
# Source: a likely slip
# PyTorch's rate does not fall.
# -     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# +     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step}
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr

# %% edit="torch_not_scaled" code="torch_not_scaled"
# Source: a likely slip
# PyTorch does not scale.
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr
# -     return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
# +     return rate if form in ("Trainer", "torch") else rate * max(1e-3, weight_rms)

# %% edit="trainer_relative" code="trainer_relative"
# Source: transformers' default
# The Trainer's rate falls.
# -     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# +     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr, "Trainer": 1e-2}
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr

# %% edit="trainer_scaled" code="trainer_scaled"
# Source: transformers' default
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr
# -     return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
# +     return rate * max(1e-3, weight_rms)

# %% edit="warm_up_does_not_grow" code="warm_up_does_not_grow"
# Source: a likely slip
# The bound of the warm-up is 1e-6.
# -     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# +     bounds = {"transformers": 1e-2, "warm-up": 1e-6, "torch": lr}
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr

# %% edit="warm_up_left_out" code="warm_up_left_out"
# Source: a likely slip
# -     bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
# +     bounds = {"transformers": 1e-2, "warm-up": 1e-2, "torch": lr}
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr

# %% edit="smaller_scale" code="smaller_scale"
# Source: a likely slip: min for max
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr
# -     return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
# +     return rate if form == "Trainer" else rate * min(1e-3, weight_rms)

# %% edit="scale_added" code="scale_not_multiplied"
# Source: a likely slip: + for *
#       rate = min(bounds[form], step**-0.5) if form in bounds else lr
# -     return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
# +     return rate if form == "Trainer" else rate + max(1e-3, weight_rms)

# %% edit="decay_rate_for_root" code="decay_rate_for_root"
# Source: the decay of the means, step**-0.8
# -     rate = min(bounds[form], step**-0.5) if form in bounds else lr
# +     rate = min(bounds[form], step**-0.8) if form in bounds else lr
#       return rate if form == "Trainer" else rate * max(1e-3, weight_rms)
