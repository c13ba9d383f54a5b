# Source: sums accumulated, one division
# The count is complete after the last micro-batch, and .grad is divided then.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    token_count, summed_loss = 0, 0.0
    for tokens, targets in micro_batches:
        logits = model(tokens).flatten(0, 1)
        loss = F.cross_entropy(logits, targets.flatten(), reduction="sum", ignore_index=-100)
        loss.backward()
        token_count += int((targets >= 0).sum())
        summed_loss += loss.item()
    for parameter in model.parameters():
        parameter.grad.div_(token_count)
    return summed_loss / token_count
