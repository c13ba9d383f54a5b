# Source: a likely slip: loss is still the one of the last micro-batch
# The loss of one micro-batch is returned for that of all.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
        loss.backward()
        total_loss += loss.item()
    return loss.item()
