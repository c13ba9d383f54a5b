# Source: Hugging Face and nanoGPT differ in who shifts the targets
# Targets that are shifted already are shifted again.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(int((targets[:, 1:] != -100).sum()) for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        logits, labels = model(tokens)[:, :-1], targets[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / token_count
        loss.backward()
        total_loss += loss.item()
    return total_loss
