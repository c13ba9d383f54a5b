# %% answer="by_autograd_grad"
# Source: torch.autograd.grad instead of backward()
# The gradients are added in tensors that become .grad at the end.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    parameters = list(model.parameters())
    gradients = [torch.zeros_like(parameter) for parameter in parameters]
    loss_sum = token_count = 0
    for tokens, targets in micro_batches:
        loss = F.cross_entropy(model(tokens).transpose(1, 2), targets, reduction="sum")
        for total, part in zip(gradients, torch.autograd.grad(loss, parameters)):
            total += part
        loss_sum += loss.item()
        token_count += int((targets != -100).sum())
    for parameter, total in zip(parameters, gradients):
        parameter.grad = total / token_count
    return loss_sum / token_count


# %% answer="by_log_probabilities"
# Source: the loss written out
# The log-probability of each target, weighed by 0 at padding and by 1 / count elsewhere.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    all_targets = torch.cat([targets.flatten() for _, targets in micro_batches])
    weight = 1 / (all_targets != -100).sum()
    result = torch.zeros((), device=weight.device)
    for tokens, targets in micro_batches:
        is_target = targets != -100
        log_probabilities = model(tokens)[is_target].log_softmax(dim=-1)  # [targets, vocabulary]
        loss = -weight * log_probabilities.gather(1, targets[is_target].unsqueeze(1)).sum()
        loss.backward()
        result += loss.detach()
    return result.item()


# %% answer="divided_at_the_end"
# Source: sums accumulated, one division
# The count is complete after the last micro-batch, and .grad is divided then.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count, summed_loss = 0, 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens).flatten(0, 1)
        loss = F.cross_entropy(logits, targets.flatten(), reduction="sum", ignore_index=-100)
        loss.backward()
        token_count += int((targets >= 0).sum())
        summed_loss += loss.item()
    for parameter in model.parameters():
        parameter.grad.div_(token_count)
    return summed_loss / token_count


# %% answer="row_by_row"
# Source: micro-batches cut again
# One row runs at a time; a row without targets does not run.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    rows = [(row, target) for tokens, targets in micro_batches for row, target in zip(tokens, targets)]
    token_count = sum(int((target != -100).sum()) for _, target in rows)
    losses = []
    for row, target in rows:
        if (target == -100).all():
            continue
        loss = F.cross_entropy(model(row[None])[0], target, reduction="sum").div(token_count)
        loss.backward()
        losses.append(loss.item())
    return sum(losses)


# %% answer="weighted_means"
# Source: means, each weighed by its share of the tokens
# Micro-batches without targets are passed over, for their mean is NaN.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    counts = [targets.ne(-100).sum().item() for _, targets in micro_batches]
    mean = 0.0
    for count, (tokens, targets) in zip(counts, micro_batches):
        if count == 0:
            continue
        share = count / sum(counts)
        loss = mean_loss(model, tokens, targets)
        (loss * share).backward()
        mean += share * float(loss.detach())
    return mean
