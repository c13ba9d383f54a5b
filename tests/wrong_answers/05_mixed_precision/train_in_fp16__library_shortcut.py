# Source: Accelerate's guide to mixed precision
# On a CPU, Accelerate drops fp16 without a word: the run has no scaler.
def train_in_fp16(model, loss_function, optimizer, micro_batches: list) -> None:
    accelerator = new_accelerator(mixed_precision="fp16")
    prepared, prepared_optimizer = accelerator.prepare(model, optimizer)
    for inputs, targets in micro_batches:
        accelerator.backward(loss_function(prepared(inputs), targets))
        prepared_optimizer.step()
        prepared_optimizer.zero_grad()
