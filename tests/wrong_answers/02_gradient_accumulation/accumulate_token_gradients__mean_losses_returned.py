# Source: a likely slip: the loss is reported as before
# The gradients weigh every token the same, the returned loss does not.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    counts = [int((targets != -100).sum()) for _, targets in micro_batches]
    means = []
    for (tokens, targets), count in zip(micro_batches, counts):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
        (loss / sum(counts)).backward()
        means.append(loss.item() / max(count, 1))
    return sum(means) / len(means)
