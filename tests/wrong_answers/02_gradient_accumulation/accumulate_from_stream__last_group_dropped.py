# Source: the condition of many tutorials: if (i + 1) % accumulation_steps == 0
# Every group has k members.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    optimizer.zero_grad()
    for index, (inputs, targets) in enumerate(micro_batches):
        (loss_function(model(inputs), targets) / k).backward()
        if (index + 1) % k == 0:
            optimizer.step()
            optimizer.zero_grad()
