# %% answer="plain_baseline" code="whole_batch_in_one_forward"
# Source: an ordinary training step
# The whole batch is put together and runs at once.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    tokens, targets = (torch.cat(parts) for parts in zip(*micro_batches))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    loss.backward()
    return loss.item()


# %% answer="whole_batch_of_means" code="mean_of_means"
# Source: the whole batch in one forward, and then the lesson's mean of means
# The gradient is another one, and is named before the peak.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    tokens, targets = (torch.cat(parts) for parts in zip(*micro_batches))
    rows = [len(part) for part, _ in micro_batches]
    logits = model(tokens).split(rows)
    means = [
        F.cross_entropy(part.flatten(0, 1), target.flatten(), reduction="sum") / (target != -100).sum().clamp(min=1)
        for part, target in zip(logits, targets.split(rows))
    ]
    loss = sum(means) / len(means)
    loss.backward()
    return loss.item()


# %% edit="hard_coded" code="divided_by_another_count" seed=20011
# Source: the counts of the visible case, written down
# Numbers seen once stand for a count.
# -     token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
# +     token_count = {4: 48, 3: 31, 8: 1443}[len(micro_batches)]
#       total_loss = 0.0
#       for tokens, targets in micro_batches:
# -         logits = model(tokens)  # [rows, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
# +         loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum") / token_count

# %% edit="copied_from_lesson" code="mean_of_means"
# Source: the lesson's mean of means, which is Trainer's until October 2024 (Hugging Face, Fixing gradient accumulation)
# The mean of the micro-batches' means weighs a token of a short micro-batch more.
# -     token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
#       total_loss = 0.0
#       for tokens, targets in micro_batches:
# -         logits = model(tokens)  # [rows, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
# +         loss = mean_loss(model, tokens, targets) / len(micro_batches)

# %% edit="cleared_between" code="cleared_between"
# Source: an ordinary training loop, which begins with zero_grad()
# The gradients of earlier micro-batches are removed.
#       for tokens, targets in micro_batches:
# +         model.zero_grad()


# %% answer="count_so_far" code="count_so_far"
# Source: a likely mistake: tokens are counted on the way
# The count is not complete before the first backward, so early tokens weigh more.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count, summed_loss = 0, 0.0
    for tokens, targets in micro_batches:
        token_count += int((targets != -100).sum())
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
        (loss / token_count).backward()
        summed_loss += loss.item()
    return summed_loss / token_count


# %% edit="divided_by_rows" code="divided_by_rows"
# Source: a likely mistake: tokens.shape[0], for the number of tokens
# -     token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
# +     token_count = sum(len(tokens) for tokens, _ in micro_batches)
#       total_loss = 0.0


# %% answer="graphs_kept" code="graphs_kept"
# Source: a likely mistake: a sum of losses, one backward
# Every graph is held until the backward of the sum: right gradients at the price of the whole batch.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    loss = sum(
        F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum") / token_count
        for tokens, targets in micro_batches
    )
    loss.backward()
    return loss.item()


# %% answer="mean_losses_returned" code="mean_of_mean_losses_returned"
# Source: a likely mistake: the loss is reported as before
# The gradients weigh every token the same, the returned loss does not.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    counts = [int((targets != -100).sum()) for _, targets in micro_batches]
    means = []
    for (tokens, targets), count in zip(micro_batches, counts):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
        (loss / sum(counts)).backward()
        means.append(loss.item() / max(count, 1))
    return sum(means) / len(means)


# %% answer="mean_of_no_tokens" code="mean_of_no_tokens"
# Source: a masked mean written by hand, as in many training scripts
# In a micro-batch without targets the mask is divided by zero, and its gradient is NaN.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    counts = [(targets != -100).sum() for _, targets in micro_batches]
    total_loss = 0.0
    for (tokens, targets), count in zip(micro_batches, counts):
        log_probabilities = model(tokens).log_softmax(dim=-1)  # [rows, time, vocabulary]
        chosen = log_probabilities.gather(2, targets.clamp(min=0).unsqueeze(2)).squeeze(2)  # [rows, time]
        mean = -(chosen * (targets != -100)).sum() / count
        loss = mean * (count / sum(counts))
        loss.backward()
        if count:
            total_loss += loss.item()
    return total_loss


# %% edit="history_kept" code="memory_kept"
# Source: PyTorch FAQ: do not accumulate history across your training loop
# Logits are kept in a list that outlives the call.
# + history = []
#   def accumulate_token_gradients(model, micro_batches: list) -> float:
# ...
#           logits = model(tokens)  # [rows, time, vocabulary]
# +         history.append(logits)

# %% edit="nan_returned" code="returned_loss_not_finite"
# Source: PyTorch's cross_entropy: the mean of no targets is NaN
# The gradients are right by luck; NaN times a weight of zero is NaN in the returned loss.
#       for tokens, targets in micro_batches:
# -         logits = model(tokens)  # [rows, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
# +         loss = mean_loss(model, tokens, targets) * ((targets != -100).sum() / token_count)

# %% edit="padding_counted" code="padding_counted"
# Source: a likely mistake: numel() counts positions
# Padding is counted as if it were targets.
# -     token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
# +     token_count = sum(targets.numel() for _, targets in micro_batches)
#       total_loss = 0.0

# %% edit="padding_learned" code="padding_learned"
# Source: a likely mistake: -100 is replaced by a token number, so that one_hot or gather accept it
# The model is trained to write padding.
# -     token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
# +     position_count = sum(targets.numel() for _, targets in micro_batches)
#       total_loss = 0.0
#       for tokens, targets in micro_batches:
# -         logits = model(tokens)  # [rows, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
# +         labels = targets.masked_fill(targets == -100, 0)
# +         loss = F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten(), reduction="sum") / position_count

# %% edit="sum_not_divided" code="sum_not_divided"
# Source: Hugging Face, Fixing gradient accumulation: reduction="sum" without num_items_in_batch
# The sum is accumulated and never divided: the gradient times a constant.
#           logits = model(tokens)  # [rows, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
# +         loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
#           loss.backward()
#           total_loss += loss.item()
# -     return total_loss
# +     return total_loss / token_count


# %% answer="means_added" code="sum_of_means"
# Source: a likely mistake: the loop of equal micro-batches without its division
# Means are added as if they were sums.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    total_loss = 0.0
    for tokens, targets in micro_batches:
        loss = mean_loss(model, tokens, targets)
        loss.backward()
        total_loss += loss.item()
    return total_loss / len(micro_batches)


# %% edit="summed_loss_returned" code="summed_loss_returned"
# Source: transformers issues on a reported loss that is a sum while the gradients are right
#       for tokens, targets in micro_batches:
# -         logits = model(tokens)  # [rows, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
# -         loss.backward()
# +         loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
# +         (loss / token_count).backward()

# %% edit="targets_shifted" code="targets_shifted_again"
# Source: Hugging Face and nanoGPT differ in who shifts the targets
# -     token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
# +     token_count = sum(int((targets[:, 1:] != -100).sum()) for _, targets in micro_batches)
#       total_loss = 0.0
#       for tokens, targets in micro_batches:
# -         logits = model(tokens)  # [rows, time, vocabulary]
# -         loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
# +         logits, labels = model(tokens)[:, :-1], targets[:, 1:]
# +         loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / token_count


# %% edit="clipped" code="gradient_clipped"
# Source: a training recipe: clipping after backward
#           total_loss += loss.item()
# +     torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
#       return total_loss

# %% edit="backward_of_each_and_of_the_sum" code="gradient_doubled"
# Source: the backward of an ordinary training step, kept behind the loop
# -         loss.backward()
# -         total_loss += loss.item()
# -     return total_loss
# +         loss.backward(retain_graph=True)
# +         total_loss = total_loss + loss
# +     total_loss.backward()
# +     return total_loss.item()
