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
