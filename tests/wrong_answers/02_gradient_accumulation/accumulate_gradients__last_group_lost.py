# Source: Hugging Face guide, perf_train_gpu_one, v4.30, and a public slide deck on efficient training with Accelerate
# The remainder of k never reaches an update.
def accumulate_gradients(model, loss_function, optimizer, micro_batches: list, k: int) -> None:
    optimizer.zero_grad()
    for step, (inputs, targets) in enumerate(micro_batches, start=1):
        loss = loss_function(model(inputs), targets)
        loss = loss / k
        loss.backward()
        if step % k == 0:
            optimizer.step()
            optimizer.zero_grad()
