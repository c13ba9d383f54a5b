# Source: transformers issues on a reported loss that is a sum while the gradients are right
# The gradients are divided, the returned loss is not.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
        (loss / token_count).backward()
        total_loss += loss.item()
    return total_loss
