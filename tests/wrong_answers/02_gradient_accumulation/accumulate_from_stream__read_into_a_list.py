# Source: a likely slip: list() gives the stream its length back
# A stream can be made a list first.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    micro_batches = list(micro_batches)
    for start in range(0, len(micro_batches), k):
        group = micro_batches[start : start + k]
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
