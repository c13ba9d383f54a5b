# Source: Accelerate's guide to gradient accumulation: its token recipe multiplies by gradient_accumulation_steps
# A factor that undoes Accelerate's division is copied into a loop that has none.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens)
        loss = (
            F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") * len(micro_batches) / token_count
        )
        loss.backward()
        total_loss += loss.item()
    return total_loss
