# Source: Accelerate's guide to mixed precision
# Accelerate is to scale, and on a CPU it does not.
def train_group(model, loss_function, optimizer, scaler, micro_batches: list, max_norm: float) -> float:
    from accelerate import Accelerator

    accelerator = Accelerator()
    prepared, prepared_optimizer = accelerator.prepare(model, optimizer)
    prepared_optimizer.zero_grad()
    for inputs, targets in micro_batches:
        accelerator.backward(loss_function(prepared(inputs), targets) / len(micro_batches))
    norm = accelerator.clip_grad_norm_(prepared.parameters(), max_norm)
    prepared_optimizer.step()
    return norm.item()
