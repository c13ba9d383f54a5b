# Source: a likely slip: -100 is replaced by a token number, so that one_hot or gather accept it
# The model is trained to write padding.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    position_count = sum(targets.numel() for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        labels = targets.masked_fill(targets == -100, 0)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten(), reduction="sum") / position_count
        loss.backward()
        total_loss += loss.item()
    return total_loss
