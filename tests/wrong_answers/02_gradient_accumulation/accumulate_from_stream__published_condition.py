# Source: Hugging Face guide, perf_train_gpu_one, v4.30
# The condition is right, only the length has to go.
def accumulate_from_stream(model, loss_function, optimizer, micro_batches, k: int) -> None:
    for batch_idx, (inputs, targets) in enumerate(micro_batches):
        loss = loss_function(model(inputs), targets) / k
        loss.backward()
        if not batch_idx % k:
            optimizer.step()
            optimizer.zero_grad()
