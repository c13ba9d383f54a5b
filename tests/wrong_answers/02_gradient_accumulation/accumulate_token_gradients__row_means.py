# Source: the loss of each sequence averaged first, as in GRPO (discussed in DAPO, 2025)
# Every row weighs the same, so a token of a short row weighs more.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    row_count = sum(len(tokens) for tokens, _ in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        losses = F.cross_entropy(model(tokens).transpose(1, 2), targets, reduction="none")  # [rows, time]
        row_losses = losses.sum(dim=1) / (targets != -100).sum(dim=1).clamp(min=1)
        loss = row_losses.sum() / row_count
        loss.backward()
        total_loss += loss.item()
    return total_loss
