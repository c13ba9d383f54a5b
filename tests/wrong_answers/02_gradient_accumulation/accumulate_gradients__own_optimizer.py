# Source: the lesson's make_update, which makes an AdamW of its own
# Another optimizer than the caller's moves the weights.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
