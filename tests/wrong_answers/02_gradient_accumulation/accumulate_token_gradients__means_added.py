# Source: a likely slip: the loop of equal micro-batches without its division
# Means are added as if they were sums.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    total_loss = 0.0
    for tokens, targets in micro_batches:
        loss = mean_loss(model, tokens, targets)
        loss.backward()
        total_loss += loss.item()
    return total_loss / len(micro_batches)
