# Source: an ordinary training step
# The whole batch is put together and runs at once.
def accumulate_token_gradients(model, micro_batches: list) -> float:
    tokens, targets = (torch.cat(parts) for parts in zip(*micro_batches))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    loss.backward()
    return loss.item()
