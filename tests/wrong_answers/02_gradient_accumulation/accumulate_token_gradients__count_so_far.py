# Source: a likely slip: tokens are counted on the way
# The count is not complete before the first backward, so early tokens weigh more.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count, summed_loss = 0, 0.0
    for tokens, targets in micro_batches:
        token_count += int((targets != -100).sum())
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
        (loss / token_count).backward()
        summed_loss += loss.item()
    return summed_loss / token_count
