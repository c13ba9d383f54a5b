# Source: the lesson's mean of means, which is Trainer's until October 2024 (Hugging Face, Fixing gradient accumulation)
# The mean of the micro-batches' means weighs a token of a short micro-batch more.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    total_loss = 0.0
    for tokens, targets in micro_batches:
        loss = mean_loss(model, tokens, targets) / len(micro_batches)
        loss.backward()
        total_loss += loss.item()
    return total_loss
