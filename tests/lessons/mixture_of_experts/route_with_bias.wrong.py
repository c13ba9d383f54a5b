# Wrong answers to route_with_bias.
# Not here: hard_coded, because gates of random logits are nothing to write down.
# Not here: library_shortcut, because no library has an entry point for this routing.

# %% answer="plain_baseline" code="bias_not_used"
# Source: top-k routing without a bias
def route_with_bias(router_logits, bias, chosen, rate):
    probabilities = router_logits.softmax(dim=1)
    kept, picked = probabilities.topk(chosen, dim=1)
    gates = torch.zeros_like(probabilities).scatter(1, picked, kept / kept.sum(dim=1, keepdim=True))
    counts = (gates > 0).sum(dim=0).to(bias.dtype)
    return gates, bias + rate * (counts.mean() - counts).sign()


# %% answer="copied_from_lesson" code="gates_do_not_add_up"
# Source: the layer of the lesson, whose gate is the probability
def route_with_bias(router_logits, bias, chosen, rate):
    probabilities = router_logits.softmax(dim=1)
    picked = (probabilities + bias).topk(chosen, dim=1).indices
    gates = torch.zeros_like(probabilities).scatter(1, picked, probabilities.gather(1, picked))
    counts = torch.bincount(picked.flatten(), minlength=len(bias)).double()
    return gates, bias + rate * (counts.mean() - counts).sign()


# %% answer="values_of_topk" code="bias_in_the_gates"
# Source: the values that topk returns, which hold the bias
def route_with_bias(router_logits, bias, chosen, rate):
    kept, picked = (router_logits.softmax(dim=1) + bias).topk(chosen, dim=1)
    gates = torch.zeros_like(router_logits).scatter(1, picked, kept / kept.sum(dim=1, keepdim=True))
    counts = torch.bincount(picked.flatten(), minlength=len(bias)).double()
    return gates, bias + rate * (counts.mean() - counts).sign()


# %% edit="biased_logits" code="bias_added_to_logits"
# Source: a bias as in a linear layer
# -     probabilities = router_logits.softmax(dim=1)
# -     picked = (probabilities + bias).topk(chosen, dim=1).indices
# +     probabilities = (router_logits + bias).softmax(dim=1)
# +     picked = probabilities.topk(chosen, dim=1).indices

# %% edit="logits_choose" code="bias_added_to_logits"
# Source: logits and bias choose
# -     picked = (probabilities + bias).topk(chosen, dim=1).indices
# +     picked = (router_logits + bias).topk(chosen, dim=1).indices

# %% edit="second_softmax" code="softmax_of_the_gates"
# Source: a softmax over what was chosen, on probabilities
# -     gates = torch.zeros_like(probabilities).scatter(1, picked, kept / kept.sum(dim=1, keepdim=True))
# +     gates = torch.zeros_like(probabilities).scatter(1, picked, kept.softmax(dim=1))

# %% edit="wrong_way" code="bias_moves_the_wrong_way"
# Source: counts minus mean
# -     return gates, bias + rate * (counts.mean() - counts).sign()
# +     return gates, bias + rate * (counts - counts.mean()).sign()

# %% edit="proportional" code="step_by_the_difference"
# Source: the error times a rate, as in gradient descent
# -     return gates, bias + rate * (counts.mean() - counts).sign()
# +     return gates, bias + rate * (counts.mean() - counts)

# %% edit="change_only" code="old_bias_dropped"
# Source: the change returned
# -     return gates, bias + rate * (counts.mean() - counts).sign()
# +     return gates, rate * (counts.mean() - counts).sign()

# %% edit="lowered_only" code="one_direction_only"
# Source: only overloaded experts are moved
# -     return gates, bias + rate * (counts.mean() - counts).sign()
# +     return gates, bias - rate * (counts > counts.mean())

# %% edit="no_middle" code="mean_counts_as_too_many"
# Source: an if with two branches
# -     return gates, bias + rate * (counts.mean() - counts).sign()
# +     return gates, torch.where(counts < counts.mean(), bias + rate, bias - rate)

# %% edit="soft_counts" code="probabilities_counted"
# Source: the load as a sum of probabilities
# -     counts = torch.bincount(picked.flatten(), minlength=len(bias)).to(bias.dtype)
# +     counts = probabilities.sum(dim=0)

# %% edit="in_place" code="bias_changed_in_place"
# Source: a buffer that is updated
# -     return gates, bias + rate * (counts.mean() - counts).sign()
# +     bias += rate * (counts.mean() - counts).sign()
# +     return gates, bias

# %% edit="detached" code="gates_without_gradient"
# Source: routing under no_grad
# -     probabilities = router_logits.softmax(dim=1)
# +     probabilities = router_logits.detach().softmax(dim=1)

# %% edit="gates_alone" code="no_pair_returned"
# Source: the bias is forgotten
# -     return gates, bias + rate * (counts.mean() - counts).sign()
# +     return gates

# %% edit="whole_mean" code="mean_rounded"
# Source: the mean load by integer division
# -     return gates, bias + rate * (counts.mean() - counts).sign()
# +     return gates, bias + rate * (picked.numel() // len(bias) - counts).sign()

# %% edit="demonstrated_rate" code="another_rate"
# Source: the rate of the demonstration
# -     return gates, bias + rate * (counts.mean() - counts).sign()
# +     return gates, bias + 0.01 * (counts.mean() - counts).sign()

# %% edit="detached_sum" code="gates_half_detached"
# Source: a normalisation that is taken for a constant
# -     gates = torch.zeros_like(probabilities).scatter(1, picked, kept / kept.sum(dim=1, keepdim=True))
# +     gates = torch.zeros_like(probabilities).scatter(1, picked, kept / kept.sum(dim=1, keepdim=True).detach())
