# Source: a likely slip: the sum is weighed by its share of the tokens, as a mean would be
# A sum already weighs every token; its share of the tokens weighs it again.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    counts = [int((targets != -100).sum()) for _, targets in micro_batches]
    total_loss = 0.0
    for (tokens, targets), count in zip(micro_batches, counts):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
        (loss * count / sum(counts)).backward()
        total_loss += loss.item()
    return total_loss / sum(counts)
