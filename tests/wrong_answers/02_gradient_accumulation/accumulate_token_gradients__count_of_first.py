# Source: transformers pull request 34191: items counted on one micro-batch
# The count of the first micro-batch is used for all.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = int((micro_batches[0][1] != -100).sum())
    total_loss = 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
        loss.backward()
        total_loss += loss.item()
    return total_loss
