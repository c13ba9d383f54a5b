# Wrong answers to balance_loss.
# Not here: hard_coded, because losses of random logits and their gradients are nothing to write down.

# %% answer="plain_baseline" code="probabilities_for_the_shares"
# Source: the probabilities should be uniform, so their squares are small
def balance_loss(router_logits, chosen):
    means = router_logits.softmax(dim=1).mean(dim=0)
    return len(means) * (means * means).sum()


# %% answer="library_shortcut" code="shares_add_up_to_the_chosen"
# Source: the function of transformers
def balance_loss(router_logits, chosen):
    from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

    return load_balancing_loss_func((router_logits,), router_logits.shape[1], chosen)


# %% answer="copied_from_lesson" code="first_choice_only"
# Source: the layer's argmax
def balance_loss(router_logits, chosen):
    probabilities = router_logits.softmax(dim=1)
    shares = torch.bincount(probabilities.argmax(dim=1), minlength=router_logits.shape[1]) / len(router_logits)
    return router_logits.shape[1] * (shares * probabilities.mean(dim=0)).sum()


# %% edit="no_factor" code="number_of_experts_missing"
# Source: the sum of the text without its factor
# -     return experts * (shares * probabilities.mean(dim=0)).sum()
# +     return (shares * probabilities.mean(dim=0)).sum()

# %% edit="mean_of_products" code="averaged_over_experts_twice"
# Source: mean() in place of sum()
# -     return experts * (shares * probabilities.mean(dim=0)).sum()
# +     return (shares * probabilities.mean(dim=0)).mean()

# %% edit="shares_per_token" code="shares_add_up_to_the_chosen"
# Source: tokens counted in place of choices
# -     shares = torch.bincount(picked.flatten(), minlength=experts) / picked.numel()
# +     shares = torch.bincount(picked.flatten(), minlength=experts) / len(picked)

# %% edit="counts" code="counts_for_shares"
# Source: counts that nothing divides
# -     shares = torch.bincount(picked.flatten(), minlength=experts) / picked.numel()
# +     shares = torch.bincount(picked.flatten(), minlength=experts)

# %% edit="first_column" code="first_choice_only"
# Source: picked[:, 0], as in a layer with one expert per token
# -     shares = torch.bincount(picked.flatten(), minlength=experts) / picked.numel()
# +     shares = torch.bincount(picked[:, 0], minlength=experts) / len(picked)

# %% edit="counts_twice" code="balance_without_gradient"
# Source: the variance of the load
# -     return experts * (shares * probabilities.mean(dim=0)).sum()
# +     return experts * (shares * shares).sum()

# %% edit="summed" code="probabilities_not_averaged"
# Source: sum in place of mean
# -     return experts * (shares * probabilities.mean(dim=0)).sum()
# +     return experts * (shares * probabilities.sum(dim=0)).sum()

# %% edit="raw_logits" code="logits_averaged"
# Source: the router's output taken for a probability
# -     return experts * (shares * probabilities.mean(dim=0)).sum()
# +     return experts * (shares * router_logits.mean(dim=0)).sum()

# %% edit="chosen_ones" code="probabilities_of_the_chosen_only"
# Source: the mean of the gates
# -     return experts * (shares * probabilities.mean(dim=0)).sum()
# +     gates = torch.zeros_like(probabilities).scatter(1, picked, probabilities.gather(1, picked))
# +     return experts * (shares * gates.mean(dim=0)).sum()

# %% edit="minimum_length" code="raised_runtime_error"
# Source: bincount without minlength, which is shorter where the last expert gets nothing
# Because: PyTorch names both lengths, and the learner's line is shown
# -     shares = torch.bincount(picked.flatten(), minlength=experts) / picked.numel()
# +     shares = torch.bincount(picked.flatten()) / picked.numel()

# %% edit="item" code="wrong_type"
# Source: a number for logging
# -     return experts * (shares * probabilities.mean(dim=0)).sum()
# +     return experts * (shares * probabilities.mean(dim=0)).sum().item()
