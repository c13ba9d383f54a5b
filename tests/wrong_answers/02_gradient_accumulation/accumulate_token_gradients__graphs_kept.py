# Source: a likely slip: a sum of losses, one backward
# Every graph is held until the backward of the sum: right gradients at the price of the whole batch.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count = sum(int((targets != -100).sum()) for _, targets in micro_batches)
    loss = sum(
        F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum") / token_count
        for tokens, targets in micro_batches
    )
    loss.backward()
    return loss.item()
