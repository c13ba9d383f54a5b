# Source: Hugging Face, Fixing gradient accumulation: reduction="sum" without num_items_in_batch
# The sum is accumulated and never divided: the gradient times a constant.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
        loss.backward()
        total_loss += loss.item()
    return total_loss / token_count
