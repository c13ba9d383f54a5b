# Wrong answers to trimmed_loss.
# Not here: copied_from_lesson, because it is the plain baseline.

# %% answer="plain_baseline" code="shape_depends_on_values"
# Source: trimmed_loss_with_breaks
def trimmed_loss(model, inputs, targets, limit):
    losses = F.mse_loss(model(inputs), targets, reduction="none").mean(dim=1)
    if losses.min() > limit:
        loss = losses.min()
    else:
        loss = losses[losses <= limit].mean()
    return loss, losses.max().item()


# %% answer="hard_coded" code="all_rows_counted"
# Source: right on a batch without outliers
def trimmed_loss(model, inputs, targets, limit):
    losses = F.mse_loss(model(inputs), targets, reduction="none").mean(dim=1)
    return losses.mean(), losses.max()


# %% edit="branch" code="branches_on_a_value"
# Source: the sum is repaired, and the `if` is left
# -     threshold = losses.min().clamp(min=limit)
# +     threshold = losses.min() if losses.min() > limit else limit

# %% edit="item" code="value_read_back"
# Source: the log wants a number
# -     return loss, losses.detach().max()
# +     return loss, losses.max().item()

# %% edit="masked_select" code="shape_depends_on_values"
# Source: the same selection by another name
# -     loss = torch.where(kept, losses, 0).sum() / kept.sum()
# +     loss = torch.masked_select(losses, kept).mean()

# %% edit="print" code="prints_inside"
# Source: a print for debugging
# -     kept = losses <= threshold
# +     kept = losses <= threshold
# +     print("largest", losses.max())


# %% answer="disabled" code="compilation_switched_off"
# Source: a break that is silenced by leaving the function out
def trimmed_loss(model, inputs, targets, limit):
    @torch.compiler.disable
    def plain(losses):
        kept = losses[losses <= max(limit, losses.min().item())]
        return kept.mean(), losses.max()

    return plain(F.mse_loss(model(inputs), targets, reduction="none").mean(dim=1))


# %% answer="counter" code="recompiled"
# Source: a counter that is kept on the model
def trimmed_loss(model, inputs, targets, limit):
    model.calls = getattr(model, "calls", 0) + 1
    losses = F.mse_loss(model(inputs), targets, reduction="none").mean(dim=1) + 0 * (model.calls % 7)
    kept = losses <= losses.min().clamp(min=limit)
    return torch.where(kept, losses, 0).sum() / kept.sum(), losses.detach().max()


# %% edit="mean_of_where" code="divided_by_all_rows"
# Source: zeros count in a mean
# -     loss = torch.where(kept, losses, 0).sum() / kept.sum()
# +     loss = torch.where(kept, losses, 0).mean()

# %% edit="empty" code="no_row_left"
# Source: a sum that is clamped, for an empty batch
# -     threshold = losses.min().clamp(min=limit)
# -     kept = losses <= threshold
# -     loss = torch.where(kept, losses, 0).sum() / kept.sum()
# +     kept = losses <= limit
# +     loss = torch.where(kept, losses, 0).sum() / kept.sum().clamp(min=1)

# %% edit="clipped" code="losses_clipped"
# Source: clipping is the other way to tame outliers
# -     loss = torch.where(kept, losses, 0).sum() / kept.sum()
# +     loss = losses.clamp(max=limit).mean()

# %% edit="largest_kept" code="largest_of_the_kept_rows"
# Source: the log is taken after the rows are left out
# -     return loss, losses.detach().max()
# +     return loss, torch.where(kept, losses, 0).detach().max()

# %% edit="detached" code="gradient_cut"
# Source: detach in the wrong place
# -     return loss, losses.detach().max()
# +     return loss.detach(), losses.detach().max()

# %% edit="numpy" code="largest_not_a_number"
# Source: NumPy for the log
# -     return loss, losses.detach().max()
# +     return loss, losses.detach().numpy().max()

# %% edit="history" code="recompiled"
# Source: a log that is kept on the model
# -     return loss, losses.detach().max()
# +     model.history = [*getattr(model, "history", []), losses.detach().max()]
# +     return loss, model.history[-1]

# %% edit="strict" code="limit_excluded"
# Source: < for <=
# -     kept = losses <= threshold
# +     kept = losses < threshold

# %% edit="sum" code="sum_for_the_mean"
# Source: the count is forgotten
# -     loss = torch.where(kept, losses, 0).sum() / kept.sum()
# +     loss = torch.where(kept, losses, 0).sum()

# %% edit="swapped" code="pair_swapped"
# Source: the order of the pair
# -     return loss, losses.detach().max()
# +     return losses.max(), loss

# %% edit="worst_row" code="worst_row_where_none_is_left"
# Source: max for min
# -     threshold = losses.min().clamp(min=limit)
# -     kept = losses <= threshold
# -     loss = torch.where(kept, losses, 0).sum() / kept.sum()
# +     kept = losses <= limit
# +     mean = torch.where(kept, losses, 0).sum() / kept.sum().clamp(min=1)
# +     loss = torch.where(kept.any(), mean, losses.max())

# %% edit="strictly_below" code="limit_excluded"
# Source: < for <=, with the best row where none is left
# -     threshold = losses.min().clamp(min=limit)
# -     kept = losses <= threshold
# -     loss = torch.where(kept, losses, 0).sum() / kept.sum()
# +     kept = losses < limit
# +     mean = torch.where(kept, losses, 0).sum() / kept.sum().clamp(min=1)
# +     loss = torch.where(kept.any(), mean, losses.min())

# %% edit="zero_by_zero_not_chosen" code="nan_in_the_branch_not_chosen"
# Source: where() taken for an if
# -     threshold = losses.min().clamp(min=limit)
# -     kept = losses <= threshold
# -     loss = torch.where(kept, losses, 0).sum() / kept.sum()
# +     kept = losses <= limit
# +     loss = torch.where(kept.any(), (losses * kept).sum() / kept.sum(), losses.min())

# %% edit="smaller_threshold" code="best_row_everywhere"
# Source: clamp(max=) for clamp(min=)
# -     threshold = losses.min().clamp(min=limit)
# +     threshold = losses.min().clamp(max=limit)


# %% answer="config_patched" code="other_break"
# Source: a switch of Dynamo's config, inside
def trimmed_loss(model, inputs, targets, limit):
    losses = F.mse_loss(model(inputs), targets, reduction="none").mean(dim=1)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        kept = losses <= losses.min().clamp(min=limit)
        return losses[kept].mean(), losses.max()
