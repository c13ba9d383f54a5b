# Source: a masked mean written by hand, as in many training scripts
# In a micro-batch without targets the mask is divided by zero, and its gradient is NaN.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    counts = [(targets != -100).sum() for _, targets in micro_batches]
    total_loss = 0.0
    for (tokens, targets), count in zip(micro_batches, counts):
        log_probabilities = model(tokens).log_softmax(dim=-1)  # [rows, time, vocabulary]
        chosen = log_probabilities.gather(2, targets.clamp(min=0).unsqueeze(2)).squeeze(2)  # [rows, time]
        mean = -(chosen * (targets != -100)).sum() / count
        loss = mean * (count / sum(counts))
        loss.backward()
        if count:
            total_loss += loss.item()
    return total_loss
