# Source: the large batch of this lesson's worked example
# A group that is held can as well run at once.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    while group := list(islice(micro_batches, k)):
        inputs, targets = (torch.cat(parts) for parts in zip(*group))
        optimizer.zero_grad()
        loss_function(model(inputs), targets).backward()
        optimizer.step()
