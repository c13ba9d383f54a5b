# Source: a published essay on LLM training efficiency
# index % k is 0 for the first micro-batch already, so every group is shifted.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for batch_idx, (inputs, targets) in enumerate(micro_batches):
        loss = loss_function(model(inputs), targets) / k
        loss.backward()
        if not batch_idx % k or (batch_idx + 1 == len(micro_batches)):
            optimizer.step()
            optimizer.zero_grad()
