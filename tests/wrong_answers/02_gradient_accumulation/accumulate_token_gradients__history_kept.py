# Source: PyTorch FAQ: do not accumulate history across your training loop
# Logits are kept in a list that outlives the call.
history = []


def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    total_loss = 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens)
        history.append(logits)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum") / token_count
        loss.backward()
        total_loss += loss.item()
    return total_loss
