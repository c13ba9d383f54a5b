# Source: a likely slip: numel() counts positions
# Padding is counted as if it were targets.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(targets.numel() for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
        loss.backward()
        total_loss += loss.item()
    return total_loss
