# Source: a likely slip: the next group is fetched before this one is trained on
# The end shows only once the next group is there.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    group = list(islice(micro_batches, k))
    while group:
        following = list(islice(micro_batches, k))
        optimizer.zero_grad()
        for inputs, targets in group:
            (loss_function(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        group = following
