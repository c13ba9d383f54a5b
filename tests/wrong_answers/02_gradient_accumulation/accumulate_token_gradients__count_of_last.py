# Source: a likely slip: a count that is set and not added to
# The count is overwritten, so the last micro-batch's is left.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    for _, targets in micro_batches:
        token_count = int((targets != -100).sum())
    total_loss = 0.0
    for tokens, targets in micro_batches:
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum") / token_count
        loss.backward()
        total_loss += loss.item()
    return total_loss
