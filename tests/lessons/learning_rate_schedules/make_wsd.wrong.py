# Wrong answers to make_wsd.

# %% answer="plain_baseline" code="no_decay"
# Source: warm-up, then constant
def make_wsd(optimizer, warm_up, stable, decay, done=0):
    return LambdaLR(optimizer, lambda update: min(1.0, update / warm_up), last_epoch=done - 1)


# %% answer="library_shortcut" code="zero_at_the_last_update"
# Source: SequentialLR of three of PyTorch's schedules, with the decay's end on the last update
def make_wsd(optimizer, warm_up, stable, decay, done=0):
    def factor(update):
        if update < warm_up:
            return update / warm_up
        if update < warm_up + stable:
            return 1.0
        return max(0.0, 1 - (update - warm_up - stable) / (decay - 1))

    return LambdaLR(optimizer, factor, last_epoch=done - 1)


# %% answer="copied_from_lesson" code="warm_up_not_counted"
# Source: the inequality of the decay with the two later phases only
def make_wsd(optimizer, warm_up, stable, decay, done=0):
    def factor(update):
        if update < warm_up:
            return update / warm_up
        return max(0.0, min(1.0, (stable + decay - update) / decay))

    return LambdaLR(optimizer, factor, last_epoch=done - 1)


# %% answer="hard_coded" code="visible_case_hard_coded"
# Source: the run that the notebook prints
def make_wsd(optimizer, warm_up, stable, decay, done=0):
    def factor(update):
        return update / 4 if update < 4 else max(0.0, min(1.0, (15 - update) / 5))

    return LambdaLR(optimizer, factor, last_epoch=done - 1)


# %% edit="done_forgotten" code="count_ignored"
# Source: a resumed run that starts its schedule again
# -     return LambdaLR(optimizer, factor, last_epoch=done - 1)
# +     return LambdaLR(optimizer, factor)

# %% edit="done_as_last_epoch" code="resumed_one_update_late"
# Source: last_epoch=done
# -     return LambdaLR(optimizer, factor, last_epoch=done - 1)
# +     return LambdaLR(optimizer, factor, last_epoch=done if done else -1)

# %% edit="present_rate_scaled" code="present_rate_taken_for_the_peak"
# Source: peaks = [group["lr"] for group in optimizer.param_groups]
# -     return LambdaLR(optimizer, factor, last_epoch=done - 1)
# +     for group in optimizer.param_groups:
# +         group["initial_lr"] = group["lr"]
# +     return LambdaLR(optimizer, lambda update: factor(update), last_epoch=done - 1)

# %% edit="first_group_only" code="one_rate_for_all_groups"
# Source: optimizer.param_groups[0]["lr"]
# -     return LambdaLR(optimizer, factor, last_epoch=done - 1)
# +     first = optimizer.param_groups[0]
# +     for group in optimizer.param_groups:
# +         group["initial_lr"] = first.get("initial_lr", first["lr"])
# +     return LambdaLR(optimizer, factor, last_epoch=done - 1)

# %% edit="counted_from_one" code="warm_up_one_update_early"
# Source: off by one
# -             return update / warm_up
# +             return (update + 1) / warm_up

# %% edit="no_floor" code="negative_after_the_end"
# Source: max(0, ...) forgotten
# -         return max(0.0, min(1.0, (updates - update) / decay))
# +         return min(1.0, (updates - update) / decay)

# %% edit="stable_skipped" code="no_stable_phase"
# Source: a linear schedule
# -         return max(0.0, min(1.0, (updates - update) / decay))
# +         return max(0.0, (updates - update) / (stable + decay))


# %% answer="transformers_default" code="decays_by_a_cosine"
# Source: get_wsd_schedule, whose decay_type is "cosine" by default
def make_wsd(optimizer, warm_up, stable, decay, done=0):
    from transformers import get_wsd_schedule

    plan = {"num_warmup_steps": warm_up, "num_stable_steps": stable, "num_decay_steps": decay}
    return get_wsd_schedule(optimizer, **plan, last_epoch=done - 1)


# %% edit="count_set_afterwards" code="rate_set_by_step_only"
# Source: scheduler.last_epoch assigned after construction
# -     return LambdaLR(optimizer, factor, last_epoch=done - 1)
# +     scheduler = LambdaLR(optimizer, factor)
# +     scheduler.last_epoch = done
# +     return scheduler

# %% edit="rate_for_factor" code="factor_times_peak"
# Source: a lambda that returns a rate
# -     return LambdaLR(optimizer, factor, last_epoch=done - 1)
# +     peak = optimizer.param_groups[0].get("initial_lr", optimizer.param_groups[0]["lr"])
# +     return LambdaLR(optimizer, lambda update: peak * factor(update), last_epoch=done - 1)

# %% edit="starts_over" code="peak_after_the_end"
# Source: a periodic schedule, as CosineAnnealingLR is
# -     def factor(update: int) -> float:
# +     def factor(update: int) -> float:
# +         update %= updates + 1


# %% answer="library_phases" code="first_rate_above_zero"
# Source: SequentialLR of LinearLR, whose start factor is above 0
def make_wsd(optimizer, warm_up, stable, decay, done=0):
    from torch.optim.lr_scheduler import ConstantLR, LinearLR, SequentialLR

    phases = [LinearLR(optimizer, 1e-8, 1.0, warm_up), ConstantLR(optimizer, 1.0, stable)]
    phases.append(LinearLR(optimizer, 1.0, 0.0, decay))
    return SequentialLR(optimizer, phases, [warm_up, warm_up + stable], last_epoch=done - 1)


# %% edit="written_before_counted" code="one_update_late"
# Source: a step() that sets the rate, then counts
# -     return LambdaLR(optimizer, factor, last_epoch=done - 1)
# +     late = LambdaLR(optimizer, factor, last_epoch=done - 1)
# +     late.last_epoch -= 1
# +     return late

# %% edit="peak_from_the_decay" code="resumed_at_another_rate"
# Source: the peak taken from `lr` after the warm-up
# -     return LambdaLR(optimizer, factor, last_epoch=done - 1)
# +     for group in optimizer.param_groups:
# +         group["initial_lr"] = group["lr"] if done > warm_up else group.get("initial_lr", group["lr"])
# +     return LambdaLR(optimizer, factor, last_epoch=done - 1)

# %% edit="whole_numbers" code="other_warm_up"
# Source: // for /
# -             return update / warm_up
# +             return update // warm_up

# %% edit="stable_one_longer" code="other_rates"
# Source: <= for <
# -         return max(0.0, min(1.0, (updates - update) / decay))
# +         return 1.0 if update <= warm_up + stable + 1 else max(0.0, (updates - update) / decay)
