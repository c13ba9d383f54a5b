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
