# Wrong answers to chunked_cross_entropy.

# %% answer="plain_baseline" code="logits_saved"
# Source: the plain loss
def chunked_cross_entropy(hidden, weight, targets, chunk_rows):
    return F.cross_entropy(hidden @ weight.T, targets)


# %% answer="library_shortcut" code="library_loss_used"
# Source: PyTorch's fused loss
def chunked_cross_entropy(hidden, weight, targets, chunk_rows):
    options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=chunk_rows)
    return F.linear_cross_entropy(hidden, weight, targets, options=options)


# %% answer="copied_from_lesson" code="logits_saved"
# Source: a loop over chunks, left to autograd
def chunked_cross_entropy(hidden, weight, targets, chunk_rows):
    total = 0
    for rows, wanted in zip(hidden.split(chunk_rows), targets.split(chunk_rows), strict=True):
        total = total + F.cross_entropy(rows @ weight.T, wanted, reduction="sum")
    return total / (targets != -100).sum()


# %% edit="hard_coded" code="last_chunk_lost"
# Source: right where the rows are whole chunks, as in the notebook
# -         for part in torch.arange(len(hidden), device=hidden.device).split(chunk_rows):
# +         whole = max(len(hidden) // chunk_rows, 1) * chunk_rows
# +         for part in torch.arange(min(whole, len(hidden)), device=hidden.device).split(chunk_rows):

# %% edit="all_rows_in_the_mean" code="ignored_rows_in_the_mean"
# Source: the number of rows for the number of targets
# -         counted, loss = targets != -100, hidden.new_zeros(())
# +         counted, loss = torch.ones_like(targets), hidden.new_zeros(())
# ...
# -             gradient *= counted[part, None] / counted.sum()
# +             gradient *= (targets[part] != -100)[:, None] / counted.sum()

# %% edit="ignored_rows_pushed" code="ignored_rows_trained"
# Source: the mask is forgotten in the gradient
# -             gradient *= counted[part, None] / counted.sum()
# +             gradient /= counted.sum()

# %% edit="weight_overwritten" code="only_the_last_chunk"
# Source: = for +=
# -             weight_gradient += gradient.T @ hidden[part]
# +             weight_gradient = gradient.T @ hidden[part]

# %% edit="upstream_ignored" code="upstream_gradient_ignored"
# Source: the loss is the last operation, so its gradient is taken for 1
# -         return (*(gradient * loss_gradient for gradient in ctx.saved_tensors), None, None)
# +         return (*ctx.saved_tensors, None, None)

# %% edit="no_weight_gradient" code="no_gradient_of_the_weight"
# Source: None for each argument that is not the input
# -         return (*(gradient * loss_gradient for gradient in ctx.saved_tensors), None, None)
# +         return ctx.saved_tensors[0] * loss_gradient, None, None, None

# %% edit="softmax_alone" code="target_not_subtracted"
# Source: the derivative of the logsumexp alone
# -             gradient[torch.arange(len(part)), targets[part].clamp(min=0)] -= 1

# %% edit="sign" code="gradient_of_the_wrong_sign"
# Source: target minus prediction
# -             gradient *= counted[part, None] / counted.sum()
# +             gradient *= -counted[part, None].to(gradient.dtype) / counted.sum()

# %% edit="softmax_by_hand" code="softmax_overflows"
# Source: exp without subtracting the maximum
# -             gradient = logits.softmax(dim=1)
# +             gradient = logits.exp() / logits.exp().sum(dim=1, keepdim=True)

# %% edit="logits_first" code="logits_held_at_once"
# Source: one product for all rows, then a loop over its rows
# -         for part in torch.arange(len(hidden), device=hidden.device).split(chunk_rows):
# -             logits = hidden[part] @ weight.T
# +         every = hidden @ weight.T
# +         for part in torch.arange(len(hidden), device=hidden.device).split(chunk_rows):
# +             logits = every[part]

# %% edit="two_gradients" code="number_of_gradients"
# Source: only the tensors are given a gradient
# -         return (*(gradient * loss_gradient for gradient in ctx.saved_tensors), None, None)
# +         return tuple(gradient * loss_gradient for gradient in ctx.saved_tensors)

# %% edit="every_row" code="target_subtracted_in_every_row"
# Source: a column index for all rows
# -             gradient[torch.arange(len(part)), targets[part].clamp(min=0)] -= 1
# +             gradient[:, targets[part].clamp(min=0)] -= 1

# %% edit="softmax_over_rows" code="softmax_over_rows"
# Source: dim=0 for dim=1
# -             gradient = logits.softmax(dim=1)
# +             gradient = logits.softmax(dim=0)

# %% edit="class_zero" code="class_zero_ignored"
# Source: 0 as the padding class
# -         counted, loss = targets != -100, hidden.new_zeros(())
# +         counted, loss = targets > 0, hidden.new_zeros(())
# ...
# -             loss += F.cross_entropy(logits, targets[part], reduction="sum") / counted.sum()
# +             loss += F.cross_entropy(logits[counted[part]], targets[part][counted[part]], reduction="sum") / counted.sum()

# %% edit="upcast" code="format_changed"
# Source: logits are upcast in large models
# -             gradient = logits.softmax(dim=1)
# +             gradient = logits.float().softmax(dim=1)

# %% edit="averaged_weight" code="weight_gradient_averaged"
# Source: the mean over chunks, as with accumulated losses
# -             weight_gradient += gradient.T @ hidden[part]
# +             weight_gradient += gradient.T @ hidden[part] / len(hidden.split(chunk_rows))

# %% edit="number_of_chunks" code="chunk_rows_ignored"
# Source: chunk() for split()
# -         for part in torch.arange(len(hidden), device=hidden.device).split(chunk_rows):
# +         for part in torch.arange(len(hidden), device=hidden.device).chunk(chunk_rows):

# %% edit="sixteen_chunks" code="chunk_rows_ignored"
# Source: the number of chunks that the budget names
# -         for part in torch.arange(len(hidden), device=hidden.device).split(chunk_rows):
# +         for part in torch.arange(len(hidden), device=hidden.device).split(-(-len(hidden) // 16)):

# %% edit="means_of_chunks" code="mean_of_chunk_means"
# Source: the mean of the chunks' means, NaN where a chunk is ignored whole
# -             loss += F.cross_entropy(logits, targets[part], reduction="sum") / counted.sum()
# +             loss += F.cross_entropy(logits, targets[part]) / len(hidden.split(chunk_rows))

# %% edit="mean_times_count" code="mean_of_no_rows"
# Source: cross_entropy's mean turned back into a sum
# -             loss += F.cross_entropy(logits, targets[part], reduction="sum") / counted.sum()
# +             loss += F.cross_entropy(logits, targets[part]) * counted[part].sum() / counted.sum()

# %% edit="divided_again" code="divided_twice"
# Source: the mean in both directions
# -         ctx.save_for_backward(hidden_gradient, weight_gradient)
# +         ctx.save_for_backward(hidden_gradient / counted.sum(), weight_gradient / counted.sum())
